#include "core/tensor/variant_tensors.h"

#include "core/testing.h"

namespace weir {
namespace {

// A variant that holds tensors.
class Holder : public VariantValue, public VariantOnDevice {
 public:
  explicit Holder(std::vector<Tensor> tensors) : tensors(std::move(tensors)) {}
  std::string TypeName() const override { return "Holder"; }
  std::unique_ptr<VariantValue> Clone() const override { return std::make_unique<Holder>(tensors); }
  std::string DebugString() const override { return "Holder"; }
  absl::Status Encode(std::string*, std::vector<Tensor>*) const override { return absl::OkStatus(); }
  absl::StatusOr<std::unique_ptr<VariantValue>> MapTensors(const TensorMapping& fn) const override {
    auto mapped = std::make_unique<Holder>(tensors);
    for (Tensor& tensor : mapped->tensors) {
      ASSIGN_OR_RETURN(tensor, fn(tensor));
    }
    return std::unique_ptr<VariantValue>(std::move(mapped));
  }

  std::vector<Tensor> tensors;
};

Tensor Holding(std::vector<Tensor> tensors) {
  return Tensor::Scalar(Variant(std::make_shared<Holder>(std::move(tensors))));
}
const std::vector<Tensor>& In(const Tensor& variant) { return variant.scalar<Variant>().get<Holder>()->tensors; }

TEST(VariantTensorsTest, WhatDevicesHaveIsReplacedAndTheRestStays) {
  const Tensor x = AsTensor<float>({1, 2}), words = AsTensor<tstring>({"a"}), counts = AsTensor<int32_t>({3});
  const Tensor variants = Holding({x, words, counts, Tensor(DT_FLOAT, TensorShape({0}))});
  ASSERT_OK_AND_ASSIGN(const VariantTensors found, VariantTensors::Of(variants));
  ASSERT_EQ(found.tensors().size(), 1);
  EXPECT_TRUE(found.tensors()[0].SharesBufferWith(x));
  ASSERT_OK_AND_ASSIGN(const Tensor replaced, found.With({AsTensor<float>({5, 6})}));
  ExpectTensorEqual(In(replaced)[0], AsTensor<float>({5, 6}));
  EXPECT_TRUE(In(replaced)[1].SharesBufferWith(words));
  EXPECT_TRUE(In(replaced)[2].SharesBufferWith(counts));
  ExpectTensorEqual(In(variants)[0], x);
}

TEST(VariantTensorsTest, WhatIsSharedIsCopiedOnce) {
  const Tensor x = AsTensor<float>({1, 2, 3, 4}, {2, 2});
  ASSERT_OK_AND_ASSIGN(const Tensor flat, x.Reshaped(TensorShape({4})));
  Tensor nested = Holding({x, flat, x.SubSlice(1)});
  // Doubles with each level: too many to copy one by one.
  for (int depth = 0; depth < 60; ++depth) nested = Holding({nested, nested});
  ASSERT_OK_AND_ASSIGN(const VariantTensors found, VariantTensors::Of(nested));
  ASSERT_EQ(found.tensors().size(), 2);
  const Tensor y = AsTensor<float>({5, 6, 7, 8}, {2, 2}), row = AsTensor<float>({9, 9});
  ASSERT_OK_AND_ASSIGN(Tensor replaced, found.With({y, row}));
  for (int depth = 0; depth < 60; ++depth) replaced = In(Tensor(replaced))[depth % 2];
  ExpectTensorEqual(In(replaced)[0], y);
  ExpectTensorEqual(In(replaced)[1], AsTensor<float>({5, 6, 7, 8}));
  ExpectTensorEqual(In(replaced)[2], row);
}

TEST(VariantTensorsTest, EmptyVariantsStayAndErrorsArePassedOn) {
  Tensor variants(DT_VARIANT, TensorShape({2}));
  ASSERT_OK_AND_ASSIGN(const VariantTensors none, VariantTensors::Of(variants));
  EXPECT_TRUE(none.tensors().empty());
  ASSERT_OK_AND_ASSIGN(const Tensor same, none.With({}));
  EXPECT_TRUE(same.flat<Variant>()[1].empty());
  ASSERT_OK_AND_ASSIGN(const VariantTensors one, VariantTensors::Of(Holding({AsTensor<float>({1, 2})})));
  EXPECT_EQ(one.tensors().size(), 1);
}

}  // namespace
}  // namespace weir
