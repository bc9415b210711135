#include <cmath>
#include <limits>
#include <random>

#include "core/tensor/numeric_types.h"
#include "core/testing.h"
#include "core/wire/block_compression.h"
#include "core/wire/wire_codec.h"
#include "core/wire/wire_options.h"
#include "core/wire/wire_tensor.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr WireOptions kLz4{.compression = WireCompression::kLz4};
constexpr WireOptions kSnappy{.compression = WireCompression::kSnappy};

TEST(WireOptionsTest, TextBothWays) {
  for (const char* text : {"", "bf16", "fp16", "lz4", "snappy", "bf16+lz4", "fp16+snappy"}) {
    ASSERT_OK_AND_ASSIGN(const WireOptions options, WireOptions::Parse(text));
    EXPECT_EQ(options.ToString(), text);
    EXPECT_EQ(options.any(), text[0] != 0);
  }
  for (const char* text : {"gzip", "lz4+bf16", "bf16+fp16", "lz4+snappy", "bf16+", "+", "BF16", " lz4"}) {
    EXPECT_THAT(WireOptions::Parse(text).status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
  }
}

TEST(BlockCompressionTest, ABlockExpandsToWhatItWasAndToNothingElse) {
  const std::string plain(10000, 'a');
  for (const WireCompression compression : {WireCompression::kLz4, WireCompression::kSnappy}) {
    std::string block(CompressedRoom(compression, plain.size()), 0);
    block.resize(CompressBlock(compression, plain, absl::MakeSpan(block)));
    ASSERT_GT(block.size(), 0);
    ASSERT_LT(block.size(), plain.size());
    std::string out(plain.size(), 0);
    EXPECT_THAT(ExpandBlock(compression, block, absl::MakeSpan(out)), IsOk());
    EXPECT_EQ(out, plain);
    for (const int more : {-1, 1}) {
      std::string other(plain.size() + more, 0);
      EXPECT_THAT(ExpandBlock(compression, block, absl::MakeSpan(other)), StatusIs(absl::StatusCode::kDataLoss));
    }
    EXPECT_THAT(ExpandBlock(compression, absl::MakeSpan(block).first(block.size() - 1), absl::MakeSpan(out)),
                StatusIs(absl::StatusCode::kDataLoss));
    EXPECT_TRUE(CanExpandTo(compression, block.size(), plain.size()));
    EXPECT_FALSE(CanExpandTo(compression, 10, size_t{1} << 30));
  }
}

TEST(BlockCompressionTest, BlocksOfNoiseAreRefusedOrFillTheirRoom) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string noise(1 + random() % 300, 0), out(random() % 1000, 0);
    for (char& c : noise) c = static_cast<char>(random() % (i % 2 == 0 ? 256 : 4));
    for (const WireCompression compression : {WireCompression::kLz4, WireCompression::kSnappy}) {
      const absl::Status status = ExpandBlock(compression, noise, absl::MakeSpan(out));
      EXPECT_TRUE(status.ok() || absl::IsDataLoss(status));
    }
  }
}

Tensor Ramp(int64_t n) {
  Tensor tensor(DT_FLOAT, TensorShape({n}));
  for (int64_t i = 0; i < n; ++i) tensor.data<float>()[i] = static_cast<float>(i % 37) / 8;
  return tensor;
}

TEST(WireTensorTest, WithoutACastBitsArrive) {
  for (const WireOptions& options : {WireOptions(), kLz4, kSnappy}) {
    for (const TensorShape& shape :
         {TensorShape(), TensorShape({0}), TensorShape({3, 0, 2}), TensorShape({7}), TensorShape({100, 64})}) {
      Tensor ids(DT_INT64, shape);
      for (int64_t i = 0; i < ids.NumElements(); ++i) ids.data<int64_t>()[i] = i * i;
      ASSERT_OK_AND_ASSIGN(const Tensor encoded, EncodeForWire(options, ids, CpuAllocator()));
      ASSERT_OK_AND_ASSIGN(const Tensor decoded, DecodeFromWire(encoded, DT_INT64, CpuAllocator()));
      ExpectTensorEqual(decoded, ids);
    }
  }
}

TEST(WireTensorTest, CompressionAndCastsMakeTensorsSmall) {
  const Tensor ramp = Ramp(100000);
  const auto size = [&](const char* text) {
    return EncodeForWire(WireOptions::Parse(text).value(), ramp, CpuAllocator()).value().TotalBytes();
  };
  EXPECT_LT(size("lz4"), 40000);
  EXPECT_LT(size("snappy"), 80000);
  EXPECT_EQ(size("bf16"), 200000 + 13);
  EXPECT_LT(size("fp16+lz4"), 20000);
}

TEST(WireTensorTest, ACastKeepsWhatItsTypeHolds) {
  Tensor values = Ramp(1000);
  float* const data = values.data<float>();
  data[0] = std::numeric_limits<float>::infinity(), data[1] = std::numeric_limits<float>::quiet_NaN(), data[2] = 1e-30f;
  data[3] = 70000;
  for (const char* text : {"bf16", "bf16+lz4", "fp16", "fp16+snappy"}) {
    ASSERT_OK_AND_ASSIGN(const WireOptions options, WireOptions::Parse(text));
    ASSERT_OK_AND_ASSIGN(const Tensor encoded, EncodeForWire(options, values, CpuAllocator()));
    ASSERT_OK_AND_ASSIGN(const Tensor decoded, DecodeFromWire(encoded, DT_FLOAT, CpuAllocator()));
    const float* const out = decoded.data<float>();
    const bool is_half = options.cast == WireCast::kHalf;
    EXPECT_TRUE(std::isinf(out[0]) && std::isnan(out[1])) << text;
    EXPECT_NEAR(out[2], is_half ? 0 : 1e-30f, 1e-32f);
    if (is_half) {
      EXPECT_TRUE(std::isinf(out[3]));
    } else {
      EXPECT_NEAR(out[3], 70000, 300);
    }
    for (int i = 4; i < 1000; ++i) EXPECT_NEAR(out[i], data[i], 0.02) << text;
  }
}

TEST(WireTensorTest, SmallTensorsAreNotCast) {
  const Tensor rate = Tensor::Scalar(0.1f);
  ASSERT_OK_AND_ASSIGN(const Tensor encoded, EncodeForWire({.cast = WireCast::kBfloat16}, rate, CpuAllocator()));
  ASSERT_OK_AND_ASSIGN(const Tensor decoded, DecodeFromWire(encoded, DT_FLOAT, CpuAllocator()));
  EXPECT_EQ(decoded.scalar<float>(), 0.1f);
}

TEST(WireTensorTest, TypesThatAreNotPlainAreNotEncoded) {
  EXPECT_THAT(EncodeForWire(kLz4, Tensor::Scalar<tstring>("x"), CpuAllocator()).status(),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("string")));
}

Tensor FromBytes(const std::string& bytes) {
  Tensor tensor(DT_UINT8, TensorShape({static_cast<int64_t>(bytes.size())}));
  std::copy(bytes.begin(), bytes.end(), static_cast<char*>(tensor.raw_data()));
  return tensor;
}

TEST(WireTensorTest, WhatLiesIsRefused) {
  const Tensor ramp = Ramp(10000);
  for (const char* text : {"", "lz4", "snappy", "bf16", "bf16+lz4"}) {
    ASSERT_OK_AND_ASSIGN(const Tensor encoded, EncodeForWire(WireOptions::Parse(text).value(), ramp, CpuAllocator()));
    const std::string good(static_cast<const char*>(encoded.raw_data()), encoded.TotalBytes());
    const auto refused = [&](const std::string& bytes) {
      EXPECT_THAT(DecodeFromWire(FromBytes(bytes), DT_FLOAT, CpuAllocator()).status(),
                  StatusIs(absl::StatusCode::kDataLoss))
          << text;
    };
    for (const size_t size : {size_t{0}, size_t{4}, size_t{9}, size_t{13}, good.size() - 1})
      refused(good.substr(0, size));
    refused(good + "x");
    // Sizes that would take all memory, or that overflow.
    for (const int64_t dim : {int64_t{10001}, int64_t{0}, int64_t{-1}, int64_t{1} << 40, int64_t{1} << 62}) {
      std::string lie = good;
      std::memcpy(lie.data() + 5, &dim, sizeof(dim));
      refused(lie);
    }
    for (const int at : {0, 1, 2, 3, 4}) {
      std::string lie = good;
      lie[at] = '\x7f';
      refused(lie);
    }
    EXPECT_THAT(DecodeFromWire(encoded, DT_INT32, CpuAllocator()).status(), StatusIs(absl::StatusCode::kDataLoss));
  }
  EXPECT_THAT(DecodeFromWire(ramp, DT_FLOAT, CpuAllocator()).status(), StatusIs(absl::StatusCode::kDataLoss));
}

void Add(void* out, const void* a, const void* b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    float x, y;
    std::memcpy(&x, static_cast<const char*>(a) + i * sizeof(float), sizeof(float));
    std::memcpy(&y, static_cast<const char*>(b) + i * sizeof(float), sizeof(float));
    static_cast<float*>(out)[i] = x + y;
  }
}

TEST(WireCodecTest, SumsKeepWhatAFloatHolds) {
  const WireCodec codec({.cast = WireCast::kBfloat16}, DT_FLOAT);
  const float sent = 1, own = 1.0f / 4096;
  ASSERT_OK_AND_ASSIGN(const WireCodec::Packed packed,
                       codec.Pack(reinterpret_cast<const char*>(&sent), 1, 0, CpuAllocator()));
  float sum = 0;
  ASSERT_THAT(codec.UnpackCombine(packed.message, 1, Add, reinterpret_cast<const char*>(&own), false,
                                  reinterpret_cast<char*>(&sum)),
              IsOk());
  EXPECT_EQ(sum, 1 + 1.0f / 4096);
}

TEST(WireCodecTest, RoundingIsWhatSendingDoes) {
  Tensor values = Ramp(3000), rounded = values.DeepCopy().value();
  for (int64_t i = 0; i < 3000; ++i) rounded.data<float>()[i] = values.data<float>()[i] += 1e-4f * i;
  const WireCodec codec({.cast = WireCast::kHalf}, DT_FLOAT);
  ASSERT_OK_AND_ASSIGN(const WireCodec::Packed packed,
                       codec.Pack(static_cast<const char*>(values.raw_data()), 3000, 0, CpuAllocator()));
  ASSERT_THAT(codec.Unpack(packed.message, 3000, static_cast<char*>(values.raw_data())), IsOk());
  codec.Round(static_cast<char*>(rounded.raw_data()), 3000);
  ExpectTensorEqual(rounded, values);
  codec.Round(static_cast<char*>(rounded.raw_data()), 3000);
  ExpectTensorEqual(rounded, values);
}

TEST(WireCodecTest, NoiseIsSentAsItIs) {
  std::mt19937 random(2);
  Tensor noise(DT_INT64, TensorShape({5000}));
  for (int64_t i = 0; i < 5000; ++i) noise.data<int64_t>()[i] = static_cast<int64_t>(random()) << 32 | random();
  const WireCodec codec(kLz4, DT_INT64);
  ASSERT_OK_AND_ASSIGN(const WireCodec::Packed packed,
                       codec.Pack(static_cast<const char*>(noise.raw_data()), 5000, 8, CpuAllocator()));
  EXPECT_EQ(packed.message.size(), 40000);
  Tensor out(DT_INT64, TensorShape({5000}));
  ASSERT_THAT(codec.Unpack(packed.message, 5000, static_cast<char*>(out.raw_data())), IsOk());
  ExpectTensorEqual(out, noise);
}

}  // namespace
}  // namespace weir
