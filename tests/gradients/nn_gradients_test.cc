#include "tests/gradients/graph_function.h"
#include "tests/gradients/op_case.h"

namespace weir {
namespace {

using Ints64 = std::vector<int64_t>;

Attrs Window(const Ints64& strides, const std::string& padding, const std::string& format = "NHWC") {
  return Attrs().Set("strides", strides).Set("padding", padding).Set("data_format", format);
}

std::vector<OpCase> ActivationCases() {
  std::vector<OpCase> cases;
  for (const char* op : {"Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign", "LeakyRelu"}) {
    cases.push_back(Twice({op, {X({2, 5})}}));
  }
  cases.push_back({"Relu6", {X({8}, -3, 9)}});
  for (const char* op :
       {"ReluGrad", "Relu6Grad", "SoftplusGrad", "SoftsignGrad", "LeakyReluGrad", "EluGrad", "SeluGrad"}) {
    cases.push_back({op, {X({6}), X({6}, -0.8, 0.8)}});
  }
  cases.push_back(Twice({"BiasAdd", {X({2, 3}), X({3})}}));
  cases.push_back({"BiasAdd", {X({2, 3, 2, 2}), X({3})}, Attrs().Set("data_format", std::string("NCHW"))});
  cases.push_back({"BiasAddV1", {X({2, 3}), X({3})}});
  cases.push_back({"BiasAddGrad", {X({2, 2, 2, 3})}});
  cases.push_back({"BiasAddGrad", {X({2, 3, 2, 2})}, Attrs().Set("data_format", std::string("NCHW"))});
  cases.push_back(Twice({"Softmax", {X({2, 4})}}));
  cases.push_back(Twice({"LogSoftmax", {X({2, 4})}}));
  cases.push_back({"L2Loss", {X({2, 4})}});
  const Tensor labels = AsTensor<double>({0.2, 0.5, 0.3, 0.7, 0.1, 0.2}, TensorShape({2, 3}));
  cases.push_back(Twice(FirstOutput({"SoftmaxCrossEntropyWithLogits", {X({2, 3}), C(labels)}})));
  cases.push_back(FirstOutput({"SoftmaxCrossEntropyWithLogits", {C(labels), X({2, 3}, 0.1, 0.9)}}));
  cases.push_back(Twice(FirstOutput({"SparseSoftmaxCrossEntropyWithLogits", {X({2, 3}), Ints({2, 0})}})));
  cases.push_back({"TopKV2", {X({2, 5}), Int(2)}});
  cases.push_back({"TopK", {X({2, 5})}, Attrs().Set("k", int64_t{3})});
  for (const int64_t axis : {-1, -2, 0, 1, 2}) {
    for (const bool largest : {true, false}) {
      cases.push_back(Single({"ApproxTopK",
                              {X({3, 4, 5})},
                              Attrs().Set("k", int64_t{2}).Set("reduction_dimension", axis).Set("is_max_k", largest)}));
    }
  }
  return cases;
}

std::vector<OpCase> ConvolutionCases() {
  std::vector<OpCase> cases;
  for (const char* padding : {"SAME", "VALID"}) {
    const Attrs unit = Window({1, 1, 1, 1}, padding), strided = Window({1, 2, 2, 1}, padding);
    cases.push_back(Twice({"Conv2D", {X({1, 4, 4, 2}), X({3, 3, 2, 2})}, unit}));
    cases.push_back({"Conv2D", {X({2, 5, 4, 1}), X({2, 3, 1, 2})}, strided});
    cases.push_back(Twice({"DepthwiseConv2dNative", {X({1, 4, 4, 2}), X({2, 2, 2, 2})}, unit}));
    cases.push_back({"DepthwiseConv2dNative", {X({1, 5, 5, 2}), X({3, 3, 2, 1})}, strided});
  }
  Attrs dilated = Window({1, 1, 1, 1}, "VALID");
  dilated.Set("dilations", Ints64{1, 2, 2, 1});
  cases.push_back({"Conv2D", {X({1, 5, 5, 1}), X({2, 2, 1, 2})}, dilated});
  cases.push_back({"Conv2D", {X({1, 2, 4, 4}), X({3, 3, 2, 2})}, Window({1, 1, 1, 1}, "SAME", "NCHW")});
  const Attrs valid = Window({1, 1, 1, 1}, "VALID");
  cases.push_back({"Conv2DBackpropInput", {Ints({1, 4, 4, 2}), X({3, 3, 2, 2}), X({1, 2, 2, 2})}, valid});
  cases.push_back({"Conv2DBackpropFilter", {X({1, 4, 4, 2}), Ints({3, 3, 2, 2}), X({1, 2, 2, 2})}, valid});
  cases.push_back(
      {"DepthwiseConv2dNativeBackpropInput", {Ints({1, 4, 4, 2}), X({3, 3, 2, 1}), X({1, 2, 2, 2})}, valid});
  cases.push_back(
      {"DepthwiseConv2dNativeBackpropFilter", {X({1, 4, 4, 2}), Ints({3, 3, 2, 1}), X({1, 2, 2, 2})}, valid});
  return cases;
}

std::vector<OpCase> PoolingCases() {
  std::vector<OpCase> cases;
  for (const char* padding : {"SAME", "VALID"}) {
    Attrs pool = Window({1, 2, 2, 1}, padding);
    pool.Set("ksize", Ints64{1, 3, 3, 1});
    cases.push_back({"MaxPool", {X({1, 5, 5, 2})}, pool});
    cases.push_back(Twice({"AvgPool", {X({1, 5, 5, 2})}, pool}));
    cases.push_back({"MaxPoolV2",
                     {X({1, 5, 5, 2}), Ints({1, 3, 3, 1}), Ints({1, 2, 2, 1})},
                     Attrs().Set("padding", std::string(padding))});
  }
  Attrs average = Window({1, 2, 2, 1}, "VALID");
  average.Set("ksize", Ints64{1, 3, 3, 1});
  cases.push_back({"AvgPoolGrad", {Ints({1, 5, 5, 2}), X({1, 2, 2, 2})}, average});
  return cases;
}

std::vector<OpCase> NormalizationCases() {
  std::vector<OpCase> cases;
  const OpArgument none = C(Tensor(DT_FLOAT, TensorShape({0})));
  const OpArgument mean = C(AsTensor<float>({0.1f, -0.2f})), variance = C(AsTensor<float>({0.8f, 1.3f}));
  for (const char* op : {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"}) {
    const Attrs training = Attrs().Set("epsilon", 0.01f);
    const Attrs inference = Attrs().Set("epsilon", 0.01f).Set("is_training", false);
    const OpArgument x = X({2, 2, 2, 2}), scale = X({2}, 0.5, 1.5), offset = X({2});
    cases.push_back(Twice(Single(FirstOutput({op, {x, scale, offset, none, none}, training}))));
    cases.push_back(Twice(Single(FirstOutput({op, {x, scale, offset, mean, variance}, inference}))));
    for (Attrs first : {training, inference}) {
      first.Set("data_format", std::string("NCHW"));
      cases.push_back(Twice(Single(FirstOutput({op, {X({2, 2, 3, 2}), scale, offset, mean, variance}, first}))));
    }
  }
  cases.push_back(Single({"LRN", {X({1, 2, 2, 4})}, Attrs().Set("depth_radius", int64_t{1}).Set("alpha", 0.5f)}));
  return cases;
}

}  // namespace

std::vector<OpCase> NnCases() {
  std::vector<OpCase> all;
  for (const auto& family : {ActivationCases(), ConvolutionCases(), PoolingCases(), NormalizationCases()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

namespace {

// Maxima of maxima: how each order of gradient goes on from the one before, for pixels that stay where they are.
TEST(NnGradients, PoolingOfHigherOrder) {
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

TEST(NnGradients, MaxPoolGradV2) {
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

TEST(NnGradients, Activations) { CheckCases(ActivationCases()); }
TEST(NnGradients, Convolutions) { CheckCases(ConvolutionCases()); }
TEST(NnGradients, Pooling) { CheckCases(PoolingCases()); }
TEST(NnGradients, Normalization) { CheckCases(NormalizationCases()); }

}  // namespace weir
