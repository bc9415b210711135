#include "kernels/embedding/row_format.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

RowFormat Format(DataType dtype, int64_t width) {
  return RowFormat({.width = width, .rule = EmbeddingRule::kAdagrad, .seed = 5, .value_dtype = dtype});
}

std::vector<float> RandomRow(int64_t width, uint32_t seed, float scale = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> row(width);
  for (float& value : row) value = normal(random);
  return row;
}

std::vector<float> Read(const RowFormat& format, const std::vector<char>& row) {
  std::vector<float> values(format.width());
  format.Read(row.data(), values.data());
  return values;
}

constexpr DataType kTypes[] = {DT_FLOAT, DT_BFLOAT16, DT_INT8};

TEST(RowFormatTest, SmallTypesTakeAHalfAndAQuarter) {
  EXPECT_EQ(Format(DT_FLOAT, 64).value_bytes(), 256);
  EXPECT_EQ(Format(DT_BFLOAT16, 64).value_bytes(), 128);
  EXPECT_EQ(Format(DT_INT8, 64).value_bytes(), 68);
  EXPECT_EQ(Format(DT_INT8, 3).bytes(), 8 + 12);  // slots are aligned
}

// Checkpoints have float values: what is restored has the same bits.
TEST(RowFormatTest, WhatWasReadIsWrittenWithoutChange) {
  for (const DataType dtype : kTypes) {
    for (uint32_t seed = 0; seed < 200; ++seed) {
      const float scale = std::pow(10.0f, static_cast<float>(seed % 60) - 32);
      const RowFormat format = Format(dtype, 1 + seed % 40);
      std::vector<char> row(format.bytes()), again(format.bytes());
      format.Write(RandomRow(format.width(), seed, scale).data(), 1, seed, row.data());
      const std::vector<float> read = Read(format, row);
      format.WriteNearest(read.data(), again.data());
      EXPECT_EQ(row, again) << DataTypeName(dtype) << " " << seed;
      format.Write(read.data(), 77, seed, again.data());
      EXPECT_EQ(Read(format, again), read) << DataTypeName(dtype) << " " << seed;
    }
  }
}

TEST(RowFormatTest, RoundingIsRightOnAverageAndDependsOnSeedKeyAndVersion) {
  for (const DataType dtype : {DT_BFLOAT16, DT_INT8}) {
    const RowFormat format = Format(dtype, 64);
    const std::vector<float> values = RandomRow(64, 1);
    std::vector<double> sums(64);
    std::vector<char> row(format.bytes()), same(format.bytes());
    constexpr int kTimes = 4000;
    for (int version = 0; version < kTimes; ++version) {
      format.Write(values.data(), 9, version, row.data());
      const std::vector<float> read = Read(format, row);
      for (int i = 0; i < 64; ++i) sums[i] += read[i];
    }
    for (int i = 0; i < 64; ++i) {
      // A step of int8 is about 2.5 / 127; of bfloat16, 2^-7 of the number at most.
      EXPECT_NEAR(sums[i] / kTimes, values[i], 0.002) << DataTypeName(dtype);
    }
    format.Write(values.data(), 9, kTimes - 1, same.data());
    EXPECT_EQ(row, same);
    format.Write(values.data(), 10, kTimes - 1, same.data());
    EXPECT_NE(row, same);
  }
}

TEST(RowFormatTest, SmallUpdatesAreNotLost) {
  for (const DataType dtype : {DT_BFLOAT16, DT_INT8}) {
    const RowFormat format = Format(dtype, 16);
    std::vector<char> row(format.bytes());
    format.WriteNearest(std::vector<float>(16, 1.0f).data(), row.data());
    for (int step = 0; step < 10000; ++step) {
      std::vector<float> values = Read(format, row);
      for (int i = 1; i < 16; ++i) values[i] -= 1e-4f;  // the first keeps the scale of int8
      format.Write(values.data(), 3, step, row.data());
    }
    double mean = 0;
    const std::vector<float> values = Read(format, row);
    for (int i = 1; i < 16; ++i) mean += values[i] / 15;
    EXPECT_NEAR(mean, 0, 0.1) << DataTypeName(dtype);
  }
}

TEST(RowFormatTest, NumbersThatAreNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {1, infinity, -infinity, std::nanf("")};
  for (const DataType dtype : kTypes) {
    const RowFormat format = Format(dtype, 4);
    std::vector<char> row(format.bytes());
    format.Write(values.data(), 1, 1, row.data());
    const std::vector<float> read = Read(format, row);
    EXPECT_TRUE(std::isnan(read[3]));
    EXPECT_EQ(std::isnan(read[0]), dtype == DT_INT8);
    EXPECT_EQ(read[1] == infinity, dtype != DT_INT8);
    const std::vector<float> most(4, std::numeric_limits<float>::max());
    format.Write(most.data(), 1, 1, row.data());
    EXPECT_TRUE(std::isfinite(Read(format, row)[0])) << DataTypeName(dtype);
  }
}

}  // namespace
}  // namespace weir
