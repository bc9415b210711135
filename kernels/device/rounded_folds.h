// Sums and products of 16-bit floats that are rounded at each step, in the order of TensorFlow's CPU kernels: the order
// decides the bits. An Op has kStart and operator()(float, float).
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/device/float16.h"

namespace weir {

struct RoundedSum {
  static constexpr float kStart = 0;
  float operator()(float a, float b) const { return a + b; }
};
struct RoundedProduct {
  static constexpr float kStart = 1;
  float operator()(float a, float b) const { return a * b; }
};

// Elements that TensorFlow folds side by side.
inline constexpr int64_t kRoundedLanes = 8;
// From so many on, a column is folded in four strands.
inline constexpr int64_t kStrandedRows = 16;

// x[i] rounded to T, i < n <= kFloat16Block.
template <typename T>
void RoundTo(float* x, int64_t n) {
  uint16_t bits[kFloat16Block];
  FromFloats(x, At16<T>(bits, 0), n);
  ToFloats(At16<T>(static_cast<const void*>(bits), 0), x, n);
}

// x[i] = Op(x[i], y[i]), i < n <= kFloat16Block.
template <typename T, typename Op>
void FoldInto(float* x, const float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = Op()(x[i], y[i]);
  RoundTo<T>(x, n);
}

// out[c] = fold of the n rows x[row * stride + c], c < columns <= kFloat16Block, from the first row to the last; in
// strands, each of every fourth row, if there are rows enough and `stranded`.
template <typename T, typename Op>
void FoldRoundedColumns(const T* x, int64_t n, int64_t stride, int64_t columns, bool stranded, T* out) {
  constexpr int kStrands = 4;
  float sums[kStrands][kFloat16Block], row[kFloat16Block];
  const auto fold_row = [&](int64_t i, float* sum) {
    ToFloats(At16<T>(static_cast<const void*>(x), i * stride), row, columns);
    FoldInto<T, Op>(sum, row, columns);
  };
  for (float* sum : sums) std::fill_n(sum, columns, Op::kStart);
  int64_t i = 0;
  if (stranded && n >= kStrandedRows) {
    for (; i + kStrands <= n; i += kStrands) {
      for (int k = 0; k < kStrands; ++k) fold_row(i + k, sums[k]);
    }
    for (int k = 1; k < kStrands; ++k) FoldInto<T, Op>(sums[0], sums[k], columns);
  }
  for (; i < n; ++i) fold_row(i, sums[0]);
  FromFloats(sums[0], out, columns);
}

// The fold of x[offset + i], i < n: four groups of lanes at a time, and long rows in halves.
template <typename T, typename Op>
float FoldRoundedRow(const T* x, int64_t offset, int64_t n) {
  constexpr int64_t kGroups = 4, kBlock = kGroups * kRoundedLanes, kLeaf = 1024 * kRoundedLanes;
  const auto fold = [](float a, float b) {
    FoldInto<T, Op>(&a, &b, 1);
    return a;
  };
  if (n > kLeaf) {
    const int64_t middle = offset + (n + 1) / 2, split = (middle + kRoundedLanes - 1) / kRoundedLanes * kRoundedLanes;
    return fold(FoldRoundedRow<T, Op>(x, offset, split - offset), FoldRoundedRow<T, Op>(x, split, offset + n - split));
  }
  float sums[kBlock], block[kBlock];
  std::fill_n(sums, kBlock, Op::kStart);
  int64_t i = 0;
  const auto fold_block = [&](int64_t size) {
    ToFloats(At16<T>(static_cast<const void*>(x), offset + i), block, size);
    FoldInto<T, Op>(sums, block, size);
    i += size;
  };
  while (i + kBlock <= n) fold_block(kBlock);
  for (int64_t k = 1; k < kGroups; ++k) FoldInto<T, Op>(sums, sums + k * kRoundedLanes, kRoundedLanes);
  while (i + kRoundedLanes <= n) fold_block(kRoundedLanes);
  // The lanes are folded without rounding, then the elements that fill no lanes.
  for (int64_t width = kRoundedLanes / 2; width > 0; width /= 2) {
    for (int64_t lane = 0; lane < width; ++lane) sums[lane] = Op()(sums[lane], sums[lane + width]);
  }
  RoundTo<T>(sums, 1);
  float rest = Op::kStart;
  for (; i < n; ++i) {
    float value;
    ToFloats(At16<T>(static_cast<const void*>(x), offset + i), &value, 1);
    rest = fold(rest, value);
  }
  return fold(sums[0], rest);
}

}  // namespace weir
