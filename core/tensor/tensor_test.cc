#include "core/tensor/tensor.h"

#include "core/tensor/numeric_types.h"
#include "core/tensor/resource_handle.h"
#include "core/tensor/variant.h"
#include "core/tensor/variant_registry.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// Always fails to allocate.
class EmptyAllocator : public Allocator {
 public:
  absl::string_view name() const override { return "empty"; }
  void* AllocateRaw(size_t) override { return nullptr; }
  void DeallocateRaw(void*, size_t) override {}
  AllocatorStats Stats() const override { return {}; }
};

TEST(TensorTest, ADefaultTensorIsEmptyFloat) {
  const Tensor t;
  EXPECT_EQ(t.dtype(), DT_FLOAT);
  EXPECT_EQ(t.shape(), TensorShape({0}));
  EXPECT_EQ(t.buffer(), nullptr);
  EXPECT_TRUE(t.IsInitialized());
}

TEST(TensorTest, AMovedFromTensorIsUninitialisedAndReusable) {
  Tensor a = AsTensor<int32_t>({1, 2});
  const Tensor b = std::move(a);
  EXPECT_FALSE(a.IsInitialized());  // NOLINT(bugprone-use-after-move): what the contract says
  a = b;
  ExpectTensorEqual(a, AsTensor<int32_t>({1, 2}));
}

TEST(TensorTest, AllocateRefusesWhatCannotBe) {
  EXPECT_THAT(Tensor::Allocate(CpuAllocator(), DT_INVALID, TensorShape()), StatusIs(kInvalid));
  EXPECT_THAT(Tensor::Allocate(CpuAllocator(), static_cast<DataType>(77), TensorShape()), StatusIs(kInvalid));
  EXPECT_THAT(Tensor::Allocate(CpuAllocator(), MakeRef(DT_FLOAT), TensorShape()), StatusIs(kInvalid));
  EXPECT_THAT(Tensor::Allocate(CpuAllocator(), DT_DOUBLE, TensorShape({int64_t{1} << 61})), StatusIs(kInvalid));
  EXPECT_THAT(Tensor::Allocate(CpuAllocator(), DT_FLOAT, TensorShape({int64_t{1} << 60})),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("OOM when allocating tensor with shape")));
  EmptyAllocator none;
  EXPECT_THAT(Tensor::Allocate(&none, DT_FLOAT, TensorShape()),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("by allocator empty")));
}

TEST(TensorTest, BuffersAreAligned) {
  for (int64_t n : {1, 15, 1000, 100000, 3000000}) EXPECT_TRUE(Tensor(DT_FLOAT, TensorShape({n})).IsAligned()) << n;
}

TEST(TensorTest, CopiesShareAndCount) {
  Tensor a = AsTensor<float>({1, 2, 3});
  EXPECT_TRUE(a.RefCountIsOne());
  {
    const Tensor b = a;  // NOLINT(performance-unnecessary-copy-initialization): it is what is tested
    EXPECT_TRUE(b.SharesBufferWith(a));
    EXPECT_FALSE(a.RefCountIsOne());
  }
  EXPECT_TRUE(a.RefCountIsOne());
}

TEST(TensorTest, SlicesAreViews) {
  Tensor t = AsTensor<int32_t>({0, 1, 2, 3, 4, 5}, {3, 2});
  ExpectTensorEqual(t.Slice(1, 3), AsTensor<int32_t>({2, 3, 4, 5}, {2, 2}));
  ExpectTensorEqual(t.Slice(3, 3), Tensor(DT_INT32, TensorShape({0, 2})));
  ExpectTensorEqual(t.SubSlice(2), AsTensor<int32_t>({4, 5}));
  EXPECT_TRUE(t.SubSlice(2).SharesBufferWith(t));
  EXPECT_FALSE(t.SubSlice(1).IsAligned());
  Tensor last;
  {
    const Tensor whole = AsTensor<tstring>({"a", "b"});
    last = whole.SubSlice(1);
  }
  EXPECT_EQ(last.scalar<tstring>(), "b");
  EXPECT_EQ(Tensor(DT_FLOAT, TensorShape({0, 4})).Slice(0, 0).shape(), TensorShape({0, 4}));
}

TEST(TensorTest, ReshapeNeedsAsManyElements) {
  const Tensor t = AsTensor<float>({1, 2, 3, 4});
  ExpectTensorEqual(t.Reshaped(TensorShape({2, 2})).value(), AsTensor<float>({1, 2, 3, 4}, {2, 2}));
  EXPECT_THAT(t.Reshaped(TensorShape({3})), StatusIs(kInvalid, HasSubstr("cannot be reshaped")));
}

TEST(TensorTest, BitcastNeedsAsManyBytes) {
  const Tensor t = AsTensor<float>({1, -1});
  EXPECT_EQ(t.Bitcasted(DT_UINT32, TensorShape({2})).value().flat<uint32_t>()[0], 0x3f800000u);
  EXPECT_THAT(t.Bitcasted(DT_DOUBLE, TensorShape({2})), StatusIs(kInvalid));
  EXPECT_THAT(t.Bitcasted(DT_STRING, TensorShape({2})), StatusIs(kInvalid));
  EXPECT_THAT(t.Bitcasted(DT_DOUBLE, TensorShape({int64_t{1} << 62})), StatusIs(kInvalid));
}

TEST(TensorTest, DeepCopySharesNothing) {
  Tensor strings = AsTensor<tstring>({"a", "b"});
  const Tensor copy = strings.DeepCopy().value();
  strings.flat<tstring>()[0] = "changed";
  ExpectTensorEqual(copy, AsTensor<tstring>({"a", "b"}));

  Tensor variants(DT_VARIANT, TensorShape({2}));
  variants.flat<Variant>()[0] = Variant(std::make_shared<EncodedVariant>("T", "m", std::vector<Tensor>()));
  const Tensor other = variants.DeepCopy().value();
  EXPECT_NE(other.flat<Variant>()[0].value(), variants.flat<Variant>()[0].value());
  EXPECT_TRUE(other.flat<Variant>()[1].empty());
}

TEST(TensorTest, AVariantMayHoldTheTensorThatReplacesIt) {
  Tensor outer(DT_VARIANT, TensorShape());
  outer.scalar<Variant>() = Variant(std::make_shared<EncodedVariant>("T", "", std::vector<Tensor>{AsScalar<float>(5)}));
  outer = outer.scalar<Variant>().get<EncodedVariant>()->tensors()[0];
  EXPECT_EQ(outer.scalar<float>(), 5);
}

TEST(TensorTest, ResetReplacesTheBuffer) {
  Tensor t = AsTensor<tstring>({"a"});
  ASSERT_THAT(t.Reset(CpuAllocator(), DT_INT64, TensorShape({2})), IsOk());
  EXPECT_EQ(t.TotalBytes(), 16);
  EmptyAllocator none;
  EXPECT_THAT(t.Reset(&none, DT_INT64, TensorShape({2})), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_FALSE(t.IsInitialized());
}

TEST(TensorTest, Prints) {
  EXPECT_EQ(AsTensor<float>({1, 2.5f, 3, 4}, {2, 2}).DebugString(), "float[2,2] [1 2.5 3 4]");
  EXPECT_EQ(AsTensor<int8_t>({1, 2, 3}).DebugString(2), "int8[3] [1 2...]");
  EXPECT_EQ(AsScalar<tstring>("a\n").DebugString(), "string[] [\"a\\n\"]");
  EXPECT_EQ(AsTensor<bfloat16>({bfloat16(1.5f)}).DebugString(), "bfloat16[1] [1.5]");
  EXPECT_EQ(AsScalar<complex64>({1, -2}).DebugString(), "complex64[] [(1,-2)]");
}

TEST(TensorComparisonTest, NanAndInfinity) {
  const float nan = std::nanf(""), inf = 1.0f / 0.0f;
  ExpectTensorEqual(AsTensor<float>({nan, inf}), AsTensor<float>({nan, inf}));
  ExpectTensorNear(AsTensor<float>({nan, inf, 1}), AsTensor<float>({nan, inf, 1.000001f}));
}

TEST(TensorDeathTest, TypedAccessChecksTheType) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Tensor t = AsTensor<int32_t>({1, 2, 3});
  EXPECT_DEATH(t.flat<float>(), "int32\\[3\\] is read as float");
  EXPECT_DEATH(t.data<int64_t>(), "int32\\[3\\] is read as int64");
  EXPECT_DEATH(t.scalar<int32_t>(), "int32\\[3\\] is read as a scalar, but has 3 elements");
}

TEST(TensorTest, BytesOfAnyTensorCanBeRead) { EXPECT_EQ(AsTensor<int32_t>({1, 2}).data<char>()[4], 2); }

TEST(TensorTest, GetReportsAWrongType) {
  const Tensor t = AsTensor<int32_t>({1, 2, 3});
  ASSERT_OK_AND_ASSIGN(const absl::Span<const int32_t> values, t.Get<int32_t>());
  EXPECT_EQ(values[2], 3);
  EXPECT_THAT(t.Get<float>(), StatusIs(kInvalid, HasSubstr("A tensor int32[3] is read as float")));
}

}  // namespace
}  // namespace weir
