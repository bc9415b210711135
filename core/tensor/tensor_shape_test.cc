#include "core/tensor/tensor_shape.h"

#include <stdexcept>

#include "core/testing.h"
#include "tensorflow/core/framework/tensor_shape.pb.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TensorShapeTest, NoCountWrapsAround) {
  EXPECT_THROW(TensorShape({int64_t{1} << 40, int64_t{1} << 40}), std::length_error);
  EXPECT_THROW(TensorShape({int64_t{1} << 32, int64_t{1} << 32, 2, 2, 2, 2}), std::length_error);
  EXPECT_EQ(TensorShape({int64_t{1} << 40, int64_t{1} << 40, 0}).num_elements(), 0);
}

TEST(TensorShapeTest, BuildRefusesWhatCannotBe) {
  EXPECT_THAT(TensorShape::Build({2, -1}), StatusIs(kInvalid, HasSubstr("must be >= 0")));
  EXPECT_THAT(TensorShape::Build({int64_t{1} << 32, int64_t{1} << 32}), StatusIs(kInvalid, HasSubstr("2**63 - 1")));
  EXPECT_THAT(TensorShape::Build({int64_t{1} << 62, 4, 0}), StatusIs(kInvalid));
  EXPECT_THAT(TensorShape::Build(std::vector<int64_t>(255, 1)), StatusIs(kInvalid, HasSubstr("254")));
  EXPECT_THAT(TensorShape::Build(std::vector<int64_t>(254, 1)), IsOk());
}

TEST(TensorShapeTest, CopiesAndMovesKeepDimensionsInlineAndOnTheHeap) {
  for (const TensorShape& shape : {TensorShape(), TensorShape({2, 3}), TensorShape({1, 2, 3, 4, 5, 6})}) {
    TensorShape copy = shape;
    EXPECT_EQ(copy, shape);
    TensorShape moved = std::move(copy);
    EXPECT_EQ(moved, shape);
    EXPECT_EQ(copy, TensorShape());  // NOLINT(bugprone-use-after-move): what the contract says
    EXPECT_EQ(copy.num_elements(), 1);
    for (TensorShape target : {TensorShape({9}), TensorShape({6, 5, 4, 3, 2, 1})}) {
      target = shape;
      EXPECT_EQ(target, shape);
      EXPECT_EQ(target.num_elements(), shape.num_elements());
      const TensorShape& self = target;
      target = self;
      EXPECT_EQ(target, shape);
    }
  }
}

TEST(TensorShapeTest, MutatorsKeepTheInvariant) {
  TensorShape shape({2, 3, 4});
  ASSERT_THAT(shape.AddDim(5), IsOk());
  ASSERT_THAT(shape.InsertDim(0, 1), IsOk());
  EXPECT_THAT(shape.dim_sizes(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(shape.num_elements(), 120);
  shape.RemoveDim(2);
  ASSERT_THAT(shape.SetDim(0, 7), IsOk());
  EXPECT_THAT(shape.dim_sizes(), ElementsAre(7, 2, 4, 5));
  EXPECT_EQ(shape.num_elements(), 280);
  EXPECT_THAT(shape.AddDim(-1), StatusIs(kInvalid));
  EXPECT_THAT(shape.SetDim(0, int64_t{1} << 62), StatusIs(kInvalid));
  EXPECT_THAT(shape.dim_sizes(), ElementsAre(7, 2, 4, 5));
  ASSERT_THAT(shape.Append(TensorShape({2, 2})), IsOk());
  EXPECT_EQ(shape.ToString(), "[7,2,4,5,2,2]");
}

TEST(PartialTensorShapeTest, MergesWhatBothKnow) {
  const PartialTensorShape a = PartialTensorShape::Build({-1, 3}).value(),
                           b = PartialTensorShape::Build({2, -1}).value();
  EXPECT_EQ(a.MergeWith(b).value().ToString(), "[2,3]");
  EXPECT_EQ(a.MergeWith(PartialTensorShape()).value(), a);
  EXPECT_THAT(a.MergeWith(TensorShape({2, 4})), StatusIs(kInvalid));
  EXPECT_THAT(a.MergeWith(TensorShape({2})),
              StatusIs(kInvalid, ::testing::HasSubstr("Incompatible ranks during merge: 2 vs. 1")));
  EXPECT_FALSE(a.IsCompatibleWith(TensorShape({3})));
  EXPECT_TRUE(a.IsCompatibleWith(TensorShape({8, 3})));
  EXPECT_FALSE(a.IsFullyDefined());
  EXPECT_EQ(a.ToString(), "[?,3]");
  EXPECT_EQ(PartialTensorShape().ToString(), "<unknown>");
}

TEST(PartialTensorShapeTest, ProtosRoundTrip) {
  for (const PartialTensorShape& shape :
       {PartialTensorShape(), PartialTensorShape(TensorShape()), PartialTensorShape::Build({-1, 0, 7}).value()}) {
    tensorflow::TensorShapeProto proto;
    shape.ToProto(&proto);
    EXPECT_EQ(PartialTensorShape::FromProto(proto).value(), shape);
  }
  tensorflow::TensorShapeProto contradiction;
  contradiction.set_unknown_rank(true);
  EXPECT_THAT(TensorShape::FromProto(contradiction), StatusIs(kInvalid));
  contradiction.add_dim()->set_size(1);
  EXPECT_THAT(PartialTensorShape::FromProto(contradiction), StatusIs(kInvalid));
}

}  // namespace
}  // namespace weir
