#include "tests/gradients/family_cases.h"
#include "tests/gradients/graph_function.h"

namespace weir {
namespace {

std::vector<OpCase> PoolingImageCases() {
  std::vector<OpCase> cases;
  for (const char* padding : {"SAME", "VALID"}) {
    Attrs pool = WindowAttrs({1, 2, 2, 1}, padding);
    pool.Set("ksize", Ints64{1, 3, 3, 1});
    cases.push_back({"MaxPool", {X({1, 5, 5, 2})}, pool});
    cases.push_back(Twice({"AvgPool", {X({1, 5, 5, 2})}, pool}));
    cases.push_back({"MaxPoolV2",
                     {X({1, 5, 5, 2}), Ints({1, 3, 3, 1}), Ints({1, 2, 2, 1})},
                     Attrs().Set("padding", std::string(padding))});
  }
  Attrs average = WindowAttrs({1, 2, 2, 1}, "VALID");
  average.Set("ksize", Ints64{1, 3, 3, 1});
  cases.push_back({"AvgPoolGrad", {Ints({1, 5, 5, 2}), X({1, 2, 2, 2})}, average});
  return cases;
}

std::vector<OpCase> PoolingVolumeCases() {
  std::vector<OpCase> cases;
  for (const char* padding : {"SAME", "VALID"}) {
    const Attrs pool = Attrs()
                           .Set("strides", Ints64{1, 2, 2, 2, 1})
                           .Set("ksize", Ints64{1, 2, 3, 2, 1})
                           .Set("padding", std::string(padding));
    cases.push_back(Twice({"AvgPool3D", {X({1, 3, 4, 3, 2})}, pool}));
    cases.push_back(Single({"MaxPool3D", {X({1, 3, 4, 3, 2})}, pool}));
    const Attrs plane = Attrs()
                            .Set("strides", Ints64{1, 2, 2, 1})
                            .Set("ksize", Ints64{1, 2, 2, 1})
                            .Set("padding", std::string(padding));
    cases.push_back(FirstOutput({"MaxPoolWithArgmax", {X({2, 4, 3, 2})}, plane}));
    cases.push_back(Twice({"MaxPool", {X({1, 4, 4, 2})}, plane}));
  }
  const Attrs average = Attrs()
                            .Set("strides", Ints64{1, 2, 2, 2, 1})
                            .Set("ksize", Ints64{1, 2, 2, 2, 1})
                            .Set("padding", std::string("VALID"));
  cases.push_back({"AvgPool3DGrad", {Ints({1, 2, 4, 2, 1}), X({1, 1, 2, 1, 1})}, average});
  return cases;
}

std::vector<OpCase> PoolingFractionalCases() {
  std::vector<OpCase> cases;
  const Attrs regions = Attrs()
                            .Set("pooling_ratio", std::vector<float>{1, 1.5f, 1.4f, 1})
                            .Set("deterministic", true)
                            .Set("overlapping", true)
                            .Set("seed", int64_t{3});
  for (const char* op : {"FractionalMaxPool", "FractionalAvgPool"}) {
    cases.push_back(FirstOutput({op, {X({2, 5, 6, 2})}, regions}));
  }
  return cases;
}

std::vector<OpCase> PoolingDilationCases() {
  std::vector<OpCase> cases;
  cases.push_back({"Dilation2D",
                   {X({1, 4, 4, 2}), X({2, 2, 2}, 0.001, 0.0173)},
                   Attrs()
                       .Set("strides", Ints64{1, 1, 1, 1})
                       .Set("rates", Ints64{1, 1, 1, 1})
                       .Set("padding", std::string("SAME"))});
  return cases;
}

}  // namespace

std::vector<OpCase> PoolingGradientCases() {
  return Joined({PoolingImageCases(), PoolingVolumeCases(), PoolingFractionalCases(), PoolingDilationCases()});
}

namespace {

TEST(PoolingGradients, Image) { CheckCases(PoolingImageCases()); }
TEST(PoolingGradients, Volume) { CheckCases(PoolingVolumeCases()); }
TEST(PoolingGradients, Fractional) { CheckCases(PoolingFractionalCases()); }
TEST(PoolingGradients, Dilation) { CheckCases(PoolingDilationCases()); }

// Maxima of maxima: how each order of gradient goes on from the one before, for pixels that stay where they are.
TEST(PoolingGradients, OfHigherOrder) {
  const std::string plane[] = {"MaxPool", "MaxPoolGrad", "MaxPoolGradGrad"};
  const std::string volume[] = {"MaxPool3D", "MaxPool3DGrad", "MaxPool3DGradGrad"};
  for (const bool flat : {true, false}) {
    const DataType type = flat ? DT_DOUBLE : DT_FLOAT;
    const TensorShape shape = flat ? TensorShape({1, 4, 4, 2}) : TensorShape({1, 2, 4, 4, 1});
    Attrs attrs;
    const Ints64 window = flat ? Ints64{1, 2, 2, 1} : Ints64{1, 2, 2, 2, 1};
    attrs.Set("ksize", window).Set("strides", window).Set("padding", std::string("VALID"));
    const TensorShape pooled = flat ? TensorShape({1, 2, 2, 2}) : TensorShape({1, 1, 2, 2, 1});
    for (const int order : {1, 2}) {
      const Scope scope = Scope::NewRoot();
      const auto call = [&](const std::string& op, const std::vector<InputList>& inputs) {
        tensorflow::NodeDef def = attrs.node();
        def.set_op(op);
        return Output(scope.AddOp(std::move(def), inputs), 0);
      };
      const auto& ops = flat ? plane : volume;
      const Tensor pixels = RandomTensor(type, shape, -1, 1, 3);
      const Output dy = Argument(scope, 0, type);
      const Output y = call(ops[order], {{pixels}, {call(ops[0], {{pixels}})}, {dy}});
      const std::vector<Output> gradients =
          CheckGradients(scope, {dy}, {RandomTensor(type, order == 1 ? pooled : shape, -1, 1, 4)}, {y},
                         flat ? NumericOptions() : kSinglePrecision);
      EXPECT_TRUE(gradients[0].valid());
    }
  }
}

TEST(PoolingGradients, MaxPoolGradV2) {
  const Scope scope = Scope::NewRoot();
  const auto call = [&](const std::string& op, const std::vector<InputList>& inputs) {
    tensorflow::NodeDef def = Attrs().Set("padding", std::string("SAME")).node();
    def.set_op(op);
    return Output(scope.AddOp(std::move(def), inputs), 0);
  };
  const Tensor pixels = RandomTensor(DT_DOUBLE, {1, 3, 4, 2}, -1, 1, 3), window = Tensor::Vector<int32_t>({1, 2, 2, 1});
  const Output dy = Argument(scope, 0, DT_DOUBLE);
  const Output y =
      call("MaxPoolGradV2", {{pixels}, {call("MaxPoolV2", {{pixels}, {window}, {window}})}, {dy}, {window}, {window}});
  EXPECT_TRUE(CheckGradients(scope, {dy}, {RandomTensor(DT_DOUBLE, {1, 2, 2, 2}, -1, 1, 4)}, {y})[0].valid());
}

}  // namespace
}  // namespace weir
