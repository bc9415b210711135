#include "graph/shapes/common_shapes.h"

#include "core/op/op_registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One call of a shape function. "?" is an unknown shape; -1 an unknown dimension.
class ShapeCase {
 public:
  explicit ShapeCase(ShapeFn fn) : fn_(std::move(fn)) {}
  ShapeCase& In(std::vector<int64_t> dims) {
    inputs_.push_back(InferenceContext::Of(dims));
    tensors_.emplace_back();
    return *this;
  }
  ShapeCase& InUnknown() {
    inputs_.emplace_back();
    tensors_.emplace_back();
    return *this;
  }
  ShapeCase& InValue(std::vector<int32_t> values) {
    inputs_.push_back(InferenceContext::Vector(static_cast<int64_t>(values.size())));
    tensors_.emplace_back(Tensor::Vector<int32_t>(values));
    return *this;
  }
  ShapeCase& InScalar(int32_t value) {
    inputs_.push_back(TensorShape());
    tensors_.emplace_back(Tensor::Scalar<int32_t>(value));
    return *this;
  }
  template <typename V>
  ShapeCase& Attr(absl::string_view name, const V& value) {
    SetNodeAttr(name, value, &node_);
    return *this;
  }
  ShapeCase& Outputs(int n) {
    num_outputs_ = n;
    return *this;
  }
  std::vector<std::string> Run() {
    std::vector<const Tensor*> tensors;
    for (auto& tensor : tensors_) tensors.push_back(tensor.has_value() ? &*tensor : nullptr);
    InferenceContext context(node_, op_def_, inputs_, tensors, num_outputs_);
    if (absl::Status status = fn_(context); !status.ok()) return {std::string(status.message())};
    std::vector<std::string> shapes;
    for (int i = 0; i < num_outputs_; ++i) shapes.push_back(context.output(i).ToString());
    return shapes;
  }
  std::string One() { return Run()[0]; }

 private:
  ShapeFn fn_;
  tensorflow::NodeDef node_;
  tensorflow::OpDef op_def_;
  std::vector<PartialTensorShape> inputs_;
  std::vector<std::optional<Tensor>> tensors_;
  int num_outputs_ = 1;
};

TEST(CommonShapes, Broadcast) {
  auto of = [](std::vector<int64_t> a, std::vector<int64_t> b) {
    return ShapeCase(shapes::BroadcastBinary).In(std::move(a)).In(std::move(b)).One();
  };
  EXPECT_EQ(of({2, 3}, {}), "[2,3]");
  EXPECT_EQ(of({2, 1}, {5}), "[2,5]");
  EXPECT_EQ(of({-1, 1}, {1, -1}), "[?,?]");
  EXPECT_EQ(of({-1}, {4}), "[4]");
  EXPECT_EQ(of({-1}, {1}), "[?]");
  EXPECT_EQ(of({0}, {1}), "[0]");
  EXPECT_THAT(of({2}, {3}), HasSubstr("Dimensions must be equal, but are 2 and 3"));
  EXPECT_EQ(ShapeCase(shapes::BroadcastBinary).In({2}).InUnknown().One(), "<unknown>");
}

TEST(CommonShapes, MatMul) {
  auto of = [](std::vector<int64_t> a, std::vector<int64_t> b, bool ta, bool tb) {
    return ShapeCase(shapes::MatMul).In(a).In(b).Attr("transpose_a", ta).Attr("transpose_b", tb).One();
  };
  EXPECT_EQ(of({2, 3}, {3, 4}, false, false), "[2,4]");
  EXPECT_EQ(of({3, 2}, {4, 3}, true, true), "[2,4]");
  EXPECT_THAT(of({3}, {3, 4}, false, false), HasSubstr("Shape must be rank 2 but is rank 1"));
  EXPECT_THAT(of({2, 3}, {4, 5}, false, false), HasSubstr("Dimensions must be equal, but are 3 and 4"));
  EXPECT_EQ(
      ShapeCase(shapes::BatchMatMul).In({7, 1, 2, 3}).In({5, 3, 4}).Attr("adj_x", false).Attr("adj_y", false).One(),
      "[7,5,2,4]");
}

TEST(CommonShapes, Reduction) {
  EXPECT_EQ(ShapeCase(shapes::Reduction).In({2, 3, 4}).InValue({-1, 0}).Attr("keep_dims", false).One(), "[3]");
  EXPECT_EQ(ShapeCase(shapes::Reduction).In({2, 3, 4}).InScalar(1).Attr("keep_dims", true).One(), "[2,1,4]");
  EXPECT_EQ(ShapeCase(shapes::Reduction).In({2, 3}).In({1}).Attr("keep_dims", true).One(), "[?,?]");
  EXPECT_EQ(ShapeCase(shapes::Reduction).In({2, 3}).In({1}).Attr("keep_dims", false).One(), "<unknown>");
  EXPECT_THAT(ShapeCase(shapes::Reduction).In({2, 3}).InValue({2}).Attr("keep_dims", false).One(),
              HasSubstr("Invalid reduction dimension 2"));
  EXPECT_EQ(ShapeCase(shapes::ArgReduction).In({2, 3}).InScalar(1).One(), "[2]");
}

TEST(CommonShapes, Concat) {
  EXPECT_EQ(ShapeCase(shapes::ConcatV2).In({2, 3}).In({2, 5}).InScalar(-1).One(), "[2,8]");
  EXPECT_EQ(ShapeCase(shapes::ConcatV2).In({-1, 3}).In({2, -1}).InScalar(1).One(), "[2,?]");
  EXPECT_EQ(ShapeCase(shapes::Concat).InScalar(0).In({1, 3}).InUnknown().One(), "[?,3]");
  EXPECT_THAT(ShapeCase(shapes::ConcatV2).In({2, 3}).In({4, 5}).InScalar(0).One(), HasSubstr("must be equal"));
  EXPECT_THAT(ShapeCase(shapes::ConcatV2).In({2, 3}).In({2, 3}).InScalar(2).One(), HasSubstr("Axis 2"));
}

TEST(CommonShapes, ReshapeFillsInTheRest) {
  EXPECT_EQ(ShapeCase(shapes::Reshape).In({2, 6}).InValue({-1, 3}).One(), "[4,3]");
  EXPECT_EQ(ShapeCase(shapes::Reshape).In({-1, 6}).InValue({-1, 3}).One(), "[?,3]");
  EXPECT_EQ(ShapeCase(shapes::Reshape).In({0, 6}).InValue({-1, 0}).One(), "[?,0]");
  EXPECT_EQ(ShapeCase(shapes::Reshape).In({2, 6}).In({3}).One(), "[?,?,?]");
  EXPECT_THAT(ShapeCase(shapes::Reshape).In({6}).InValue({4}).One(),
              HasSubstr("Cannot reshape a tensor with 6 elements to shape [4] (4 elements)"));
  EXPECT_THAT(ShapeCase(shapes::Reshape).In({6}).InValue({-1, 4}).One(), HasSubstr("evenly divisible by 4"));
  EXPECT_THAT(ShapeCase(shapes::Reshape).In({6}).InValue({-2}).One(), HasSubstr("Invalid value in tensor"));
  EXPECT_THAT(ShapeCase(shapes::Reshape).In({6}).InValue({2147483647, 2147483647, 2147483647}).One(),
              HasSubstr("more than 2**63 - 1 elements"));
}

ShapeCase Strided(std::vector<int64_t> in, std::vector<int32_t> begin, std::vector<int32_t> end,
                  std::vector<int32_t> strides) {
  ShapeCase slice(shapes::StridedSlice);
  slice.In(std::move(in)).InValue(std::move(begin)).InValue(std::move(end)).InValue(std::move(strides));
  return slice;
}

ShapeCase& Masks(ShapeCase& slice, int64_t begin, int64_t end, int64_t ellipsis, int64_t new_axis, int64_t shrink) {
  return slice.Attr("begin_mask", begin)
      .Attr("end_mask", end)
      .Attr("ellipsis_mask", ellipsis)
      .Attr("new_axis_mask", new_axis)
      .Attr("shrink_axis_mask", shrink);
}

TEST(CommonShapes, StridedSlice) {
  auto of = [](ShapeCase slice, int64_t b, int64_t e, int64_t l, int64_t n, int64_t s) {
    return Masks(slice, b, e, l, n, s).One();
  };
  EXPECT_EQ(of(Strided({10, 4}, {2}, {-1}, {3}), 0, 0, 0, 0, 0), "[3,4]");
  EXPECT_EQ(of(Strided({10}, {0}, {0}, {-1}), 1, 1, 0, 0, 0), "[10]");
  EXPECT_EQ(of(Strided({10}, {8}, {2}, {-4}), 0, 0, 0, 0, 0), "[2]");
  EXPECT_EQ(of(Strided({10}, {5}, {2}, {1}), 0, 0, 0, 0, 0), "[0]");
  EXPECT_EQ(of(Strided({2, 3, 4}, {0, 1}, {0, 2}, {1, 1}), 0, 0, 1, 0, 2), "[2,3]");
  EXPECT_EQ(of(Strided({2, 3}, {0, 0}, {0, 0}, {1, 1}), 0, 0, 1, 2, 0), "[2,3,1]");
  EXPECT_EQ(of(Strided({-1, 3}, {1}, {5}, {1}), 0, 0, 0, 0, 0), "[?,3]");
  EXPECT_THAT(of(Strided({2}, {2}, {3}, {1}), 0, 0, 0, 0, 1), HasSubstr("slice index 2 of dimension 0 out of bounds"));
  EXPECT_THAT(of(Strided({2}, {0}, {1}, {0}), 0, 0, 0, 0, 0), HasSubstr("strides[0] must be non-zero"));
  EXPECT_THAT(of(Strided({2}, {0, 0}, {1, 1}, {1, 1}), 0, 0, 0, 0, 0), HasSubstr("Index out of range"));
}

TEST(CommonShapes, SliceSplitPack) {
  EXPECT_EQ(ShapeCase(shapes::Slice).In({5, -1}).InValue({1, 2}).InValue({-1, 3}).One(), "[4,3]");
  EXPECT_THAT(ShapeCase(shapes::Slice).In({5}).InValue({3}).InValue({3}).One(),
              HasSubstr("Expected size[0] in [0, 2]"));
  EXPECT_THAT(ShapeCase(shapes::Split).InScalar(1).In({2, 6}).Outputs(3).Run(), ElementsAre("[2,2]", "[2,2]", "[2,2]"));
  EXPECT_THAT(ShapeCase(shapes::SplitV).In({6}).InValue({1, -1}).InScalar(0).Outputs(2).Run(),
              ElementsAre("[1]", "[5]"));
  EXPECT_EQ(ShapeCase(shapes::Pack).In({2}).In({-1}).Attr<int64_t>("axis", 1).One(), "[2,2]");
  EXPECT_THAT(ShapeCase(shapes::Unpack).In({2, 3}).Attr<int64_t>("axis", 0).Outputs(2).Run(),
              ElementsAre("[3]", "[3]"));
  EXPECT_EQ(ShapeCase(shapes::Transpose).In({2, 3, 4}).InValue({2, 0, 1}).One(), "[4,2,3]");
  EXPECT_THAT(ShapeCase(shapes::Transpose).In({2, 3}).InValue({0, 0}).One(), HasSubstr("twice"));
  EXPECT_EQ(ShapeCase(shapes::ExpandDims).In({2, 3}).InScalar(-1).One(), "[2,3,1]");
  EXPECT_EQ(ShapeCase(shapes::Squeeze).In({1, 3, 1}).Attr("squeeze_dims", std::vector<int64_t>{0}).One(), "[3,1]");
  EXPECT_EQ(ShapeCase(shapes::Tile).In({2, 3}).InValue({2, 1}).One(), "[4,3]");
  EXPECT_EQ(ShapeCase(shapes::Pad).In({2, -1}).In({2, 2}).One(), "[?,?]");
  EXPECT_EQ(ShapeCase(shapes::Range).InScalar(2).InScalar(9).InScalar(3).One(), "[3]");
}

TEST(CommonShapes, Gather) {
  EXPECT_EQ(ShapeCase(shapes::Gather).In({9, 4}).In({2, 3}).One(), "[2,3,4]");
  EXPECT_EQ(ShapeCase(shapes::GatherV2).In({9, 4}).In({5}).InScalar(1).One(), "[9,5]");
  EXPECT_EQ(ShapeCase(shapes::GatherV2).In({2, 9, 4}).In({2, 5}).InScalar(1).Attr<int64_t>("batch_dims", 1).One(),
            "[2,5,4]");
  EXPECT_EQ(ShapeCase(shapes::GatherNd).In({2, 3, 4}).In({7, 2}).One(), "[7,4]");
}

ShapeCase Conv(std::vector<int64_t> in, std::vector<int64_t> filter, const std::string& padding,
               const std::string& format = "NHWC") {
  const bool nchw = format == "NCHW";
  ShapeCase conv(shapes::Conv2D);
  conv.In(std::move(in)).In(std::move(filter)).Attr("padding", padding).Attr("data_format", format);
  conv.Attr("strides", nchw ? std::vector<int64_t>{1, 1, 2, 2} : std::vector<int64_t>{1, 2, 2, 1});
  return conv;
}

TEST(CommonShapes, Convolution) {
  EXPECT_EQ(Conv({8, 32, 31, 3}, {3, 3, 3, 16}, "SAME").One(), "[8,16,16,16]");
  EXPECT_EQ(Conv({8, 32, 31, 3}, {3, 3, 3, 16}, "VALID").One(), "[8,15,15,16]");
  EXPECT_EQ(Conv({-1, 3, 32, -1}, {3, 3, 3, 16}, "SAME", "NCHW").One(), "[?,16,16,?]");
  EXPECT_EQ(Conv({8, 5, 5, 3}, {3, 3, 3, 4}, "EXPLICIT")
                .Attr("explicit_paddings", std::vector<int64_t>{0, 0, 1, 1, 0, 2, 0, 0})
                .One(),
            "[8,3,3,4]");
  EXPECT_EQ(Conv({1, 9, 9, 3}, {3, 3, 3, 4}, "VALID").Attr("dilations", std::vector<int64_t>{1, 2, 2, 1}).One(),
            "[1,3,3,4]");
  EXPECT_THAT(Conv({1, 2, 2, 3}, {3, 3, 3, 4}, "VALID").One(),
              HasSubstr("Negative dimension size caused by subtracting 3 from 2"));
  EXPECT_THAT(Conv({1, 9, 9, 4}, {3, 3, 3, 4}, "VALID").One(), HasSubstr("is not a multiple of input depth"));
  EXPECT_THAT(Conv({1, 9, 9, 3}, {3, 3, 3, 4}, "EXPLICIT").One(), HasSubstr("must contain 8 values"));
}

TEST(CommonShapes, PoolsAndNormalisation) {
  EXPECT_EQ(ShapeCase(shapes::Pool)
                .In({8, 5, 5, 3})
                .Attr("ksize", std::vector<int64_t>{1, 2, 2, 1})
                .Attr("strides", std::vector<int64_t>{1, 2, 2, 1})
                .Attr("padding", "VALID")
                .One(),
            "[8,2,2,3]");
  EXPECT_EQ(ShapeCase(shapes::BiasAdd).In({2, 3, 4, 5}).In({3}).Attr("data_format", "NCHW").One(), "[2,3,4,5]");
  EXPECT_EQ(ShapeCase(shapes::BiasAddGrad).In({2, 3, 4, 5}).Attr("data_format", "NHWC").One(), "[5]");
  EXPECT_THAT(ShapeCase(shapes::SparseSoftmaxCrossEntropy).In({-1, 10}).In({32}).Outputs(2).Run(),
              ElementsAre("[32]", "[32,10]"));
  EXPECT_THAT(ShapeCase(shapes::TopK).In({4, 9}).InScalar(3).Outputs(2).Run(), ElementsAre("[4,3]", "[4,3]"));
}

}  // namespace
}  // namespace weir
