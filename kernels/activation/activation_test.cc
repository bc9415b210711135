#include <cmath>
#include <limits>

#include "core/numeric_types.h"
#include "core/op_kernel_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// 0, 1, 2 …
Tensor Counting(const TensorShape& shape) {
  Tensor tensor(DT_FLOAT, shape);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<float>()[i] = static_cast<float>(i);
  return tensor;
}

// Small whole numbers without a pattern: sums of products are exact in float and even in 16 bits.
template <typename T>
Tensor Scrambled(const TensorShape& shape, uint32_t seed) {
  Tensor tensor(DataTypeOf<T>(), shape);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    seed = seed * 1664525 + 1013904223;
    tensor.data<T>()[i] = static_cast<T>(static_cast<float>(static_cast<int>(seed >> 24) % 5 - 2));
  }
  return tensor;
}

template <typename T>
Tensor ToFloat(const Tensor& tensor) {
  Tensor result(DT_FLOAT, tensor.shape());
  for (int64_t i = 0; i < tensor.NumElements(); ++i) result.data<float>()[i] = static_cast<float>(tensor.data<T>()[i]);
  return result;
}

class NnTest : public KernelTest {
 protected:
  void SetUp() override { Register(RegisterNnOps, RegisterNnKernels); }

  struct Case {
    std::string op;
    std::vector<TestInput> inputs;
    std::vector<Tensor> expected;
    Attrs attrs = {};
  };
  void ExpectOutputs(const std::vector<Case>& cases) {
    for (const Case& c : cases) {
      absl::StatusOr<std::vector<Tensor>> out = RunOp(c.op, c.inputs, c.attrs);
      ASSERT_THAT(out, IsOk()) << c.op;
      for (size_t i = 0; i < c.expected.size(); ++i) {
        ExpectTensorNear((*out)[i], c.expected[i], 1e-5, 1e-5, absl::StrCat(c.op, " output ", i));
      }
    }
  }
  struct BadCase {
    std::string op;
    std::vector<TestInput> inputs;
    std::string message;
    Attrs attrs = {};
    Code code = Code::kInvalidArgument;
  };
  void ExpectErrors(const std::vector<BadCase>& cases) {
    for (const BadCase& c : cases) {
      EXPECT_THAT(RunOp(c.op, c.inputs, c.attrs), StatusIs(c.code, HasSubstr(c.message))) << c.op;
    }
  }
};

Tensor V(std::vector<float> values) { return AsTensor<float>(std::move(values)); }
Tensor M(std::vector<float> values, const TensorShape& shape) { return AsTensor<float>(std::move(values), shape); }
Tensor Ints(std::vector<int32_t> values) { return AsTensor<int32_t>(std::move(values)); }

TEST_F(NnTest, Activations) {
  ExpectOutputs({
      {"Relu", {V({-1, 0, 2, kNaN, kInf})}, {V({0, 0, 2, kNaN, kInf})}},
      {"Relu", {Ints({-1, 2})}, {Ints({0, 2})}},
      {"Relu", {AsTensor<uint8_t>({200})}, {AsTensor<uint8_t>({200})}},
      {"Relu6", {V({-1, 3, 7, kNaN})}, {V({0, 3, 6, kNaN})}},
      {"Elu", {V({-1, -20, 2, -kInf, kNaN})}, {V({-0.6321206f, -1, 2, -1, kNaN})}},
      {"Selu", {V({-1, 2})}, {V({-1.1113307f, 2.101402f})}},
      {"LeakyRelu", {V({-1, 2})}, {V({-0.3f, 2})}, Attrs().Set("alpha", 0.3f)},
      {"Softplus", {V({-100, -1, 0, 1, 100})}, {V({0, 0.3132617f, 0.6931472f, 1.3132616f, 100})}},
      {"Softsign", {V({-1, 3})}, {V({-0.5f, 0.75f})}},
      {"ReluGrad", {V({1, 2, 3, 4}), V({-1, 0, 1, kNaN})}, {V({0, 0, 3, 0})}},
      {"Relu6Grad", {V({2, 2, 2}), V({0, 6, 3})}, {V({0, 0, 2})}},
      {"EluGrad", {V({2, 2}), V({-0.5f, 0.5f})}, {V({1, 2})}},
      {"SeluGrad", {V({2, 2}), V({-0.5f, 0.5f})}, {V({2.5161986f, 2.101402f})}},
      {"LeakyReluGrad", {V({1, 1, 1}), V({-1, 0, 2})}, {V({0.3f, 0.3f, 1})}, Attrs().Set("alpha", 0.3f)},
      {"SoftplusGrad", {V({2, 2}), V({-0.5f, 0.5f})}, {V({0.75508136f, 1.2449187f})}},
      {"SoftsignGrad", {V({2, 2}), V({-0.5f, 0.5f})}, {V({0.8888889f, 0.8888889f})}},
  });
}

TEST_F(NnTest, ActivationsOfSixteenBitsSpanSeveralBlocks) {
  std::vector<half> in, expected;
  for (int i = -500; i < 500; ++i) {
    in.push_back(half(i));
    expected.push_back(half(std::max(i, 0)));
  }
  ASSERT_OK_AND_ASSIGN(Tensor out, RunOp1("Relu", {AsTensor<half>(in)}));
  ExpectTensorEqual(out, AsTensor<half>(expected));
}

TEST_F(NnTest, Biases) {
  const Attrs first = Attrs().Set("data_format", "NCHW");
  ExpectOutputs({
      {"BiasAdd", {M({1, 2, 3, 4}, {2, 2}), V({10, 20})}, {M({11, 22, 13, 24}, {2, 2})}},
      {"BiasAdd", {M({1, 2, 3, 4}, {1, 2, 2, 1}), V({10, 20})}, {M({11, 12, 23, 24}, {1, 2, 2, 1})}, first},
      {"BiasAddV1", {M({1, 2}, {1, 2}), V({10, 20})}, {M({11, 22}, {1, 2})}},
      {"BiasAdd", {AsTensor<int8_t>({127}, {1, 1}), AsTensor<int8_t>({1})}, {AsTensor<int8_t>({-128}, {1, 1})}},
      {"BiasAddGrad", {M({1, 2, 3, 4}, {2, 2})}, {V({4, 6})}},
      {"BiasAddGrad", {Counting({1, 2, 1, 1, 2})}, {V({1, 5})}, first},
      {"BiasAddGrad", {AsTensor<int8_t>({100, 100}, {2, 1})}, {AsTensor<int8_t>({-56})}},
      {"L2Loss", {V({1, 2})}, {AsScalar<float>(2.5f)}},
      {"L2Loss", {Tensor(DT_FLOAT, {0})}, {AsScalar<float>(0)}},
  });
  ASSERT_OK_AND_ASSIGN(Tensor sums, RunOp1("BiasAddGrad", {Scrambled<float>({70000, 7}, 3)}));
  ASSERT_OK_AND_ASSIGN(Tensor again, RunOp1("BiasAddGrad", {Scrambled<double>({70000, 7}, 3)}));
  ExpectTensorEqual(sums, ToFloat<double>(again));
  ExpectErrors({
      {"BiasAdd",
       {M({1, 2}, {1, 2}), V({1})},
       "Must provide as many biases as the last dimension of the input tensor: [1] vs. [1,2]"},
      {"BiasAdd", {V({1, 2}), V({1})}, "Input tensor must be at least 2D: [2]"},
      {"BiasAdd", {M({1, 2}, {1, 2}), M({1}, {1, 1})}, "Biases must be 1D: [1,1]"},
      {"ReluGrad", {V({1, 2}), V({1})}, "must have the same size and shape.  Input 0: [2] != input 1: [1]"},
  });
}

TEST_F(NnTest, Softmaxes) {
  const float a = 0.09003057f, b = 0.24472848f, c = 0.66524094f;
  ExpectOutputs({
      {"Softmax", {M({1, 2, 3, 1001, 1002, 1003}, {2, 3})}, {M({a, b, c, a, b, c}, {2, 3})}},
      {"Softmax", {Tensor(DT_FLOAT, {2, 0})}, {Tensor(DT_FLOAT, {2, 0})}},
      {"LogSoftmax", {M({1, 2, 3}, {1, 3})}, {M({-2.407606f, -1.4076059f, -0.40760595f}, {1, 3})}},
      {"SoftmaxCrossEntropyWithLogits",
       {M({1, 2, 3, 1, 2, 4}, {2, 3}), M({0, 1, 0}, {1, 3})},
       {V({1.4076059f, 2.169846f}), M({a, b - 1, c, 0.04201007f, -0.8858048f, 0.8437947f}, {2, 3})}},
      {"SoftmaxCrossEntropyWithLogits", {Tensor(DT_FLOAT, {2, 0}), Tensor(DT_FLOAT, {2, 0})}, {V({0, 0})}},
      {"SparseSoftmaxCrossEntropyWithLogits",
       {M({1, 2, 3}, {1, 3}), Ints({1})},
       {V({1.4076059f}), M({a, b - 1, c}, {1, 3})}},
  });
  ASSERT_OK_AND_ASSIGN(Tensor lowest, RunOp1("Softmax", {M({-kInf, -kInf}, {1, 2})}));
  EXPECT_TRUE(std::isnan(lowest.data<float>()[0]));
  ExpectErrors({
      {"Softmax", {AsScalar<float>(1)}, "logits must have >= 1 dimension"},
      {"SoftmaxCrossEntropyWithLogits",
       {M({1, 2, 3}, {1, 3}), M({1, 2}, {1, 2})},
       "logits and labels must be broadcastable: logits_size=[1,3] labels_size=[1,2]"},
      {"SoftmaxCrossEntropyWithLogits", {V({1}), V({1})}, "2-dimensional"},
      {"SparseSoftmaxCrossEntropyWithLogits",
       {M({1, 2, 3, 1, 2, 4}, {2, 3}), Ints({5, 1})},
       "Received a label value of 5 which is outside the valid range of [0, 3).  Label values: 5 1"},
      {"SparseSoftmaxCrossEntropyWithLogits", {M({1, 2}, {1, 2}), Ints({-1})}, "label value of -1"},
      {"SparseSoftmaxCrossEntropyWithLogits",
       {M({1, 2}, {1, 2}), Ints({1, 1})},
       "logits and labels must have the same first dimension, got logits shape [1,2] and labels shape [2]"},
      {"SparseSoftmaxCrossEntropyWithLogits", {V({1}), Ints({1})}, "logits must be 2-D, but got shape [1]"},
      {"SparseSoftmaxCrossEntropyWithLogits",
       {Tensor(DT_FLOAT, {1, 0}), Ints({0})},
       "Must have at least one class, but got logits shape [1,0]"},
  });
}

// --- Convolutions ---

struct ConvolutionCase {
  std::vector<int64_t> input, filter;  // NHWC, HWIO
  std::vector<int64_t> strides = {1, 1}, dilations = {1, 1};
  std::string padding = "VALID";
  std::vector<int64_t> pads = {};  // top, bottom, left, right
};

std::vector<ConvolutionCase> ConvolutionCases() {
  return {
      {{1, 5, 6, 3}, {3, 3, 3, 4}},
      {{3, 8, 7, 2}, {3, 2, 2, 5}, {2, 1}, {1, 1}, "SAME"},
      {{2, 9, 9, 4}, {2, 3, 4, 3}, {1, 1}, {3, 2}},
      {{2, 6, 5, 4}, {3, 3, 2, 6}, {2, 2}, {1, 1}, "SAME"},  // two groups
      {{1, 4, 4, 2}, {2, 2, 2, 3}, {1, 2}, {1, 1}, "EXPLICIT", {2, 1, 0, 3}},
      {{2, 5, 5, 3}, {1, 1, 3, 8}, {2, 3}},
      {{1, 2, 2, 1}, {5, 5, 1, 1}, {1, 1}, {1, 1}, "SAME"},
      {{1, 64, 64, 16}, {3, 3, 16, 32}, {1, 1}, {1, 1}, "SAME"},  // large enough to be split by rows
      {{4, 64, 64, 16}, {3, 3, 16, 32}, {2, 2}, {1, 1}, "SAME"},  // … and by images
  };
}

Attrs ConvolutionAttrs(const ConvolutionCase& c, bool channels_first) {
  const auto place = [&](const std::vector<int64_t>& spatial) {
    return channels_first ? std::vector<int64_t>{1, 1, spatial[0], spatial[1]}
                          : std::vector<int64_t>{1, spatial[0], spatial[1], 1};
  };
  Attrs attrs;
  attrs.Set("strides", place(c.strides)).Set("dilations", place(c.dilations)).Set("padding", c.padding);
  attrs.Set("data_format", channels_first ? "NCHW" : "NHWC");
  std::vector<int64_t> pads;
  if (!c.pads.empty()) {
    pads.assign(8, 0);
    std::copy(c.pads.begin(), c.pads.end(), pads.begin() + (channels_first ? 4 : 2));
  }
  return attrs.Set("explicit_paddings", pads);
}

template <typename T>
Tensor ToChannelsFirst(const Tensor& in) {
  const int64_t n = in.dim_size(0), h = in.dim_size(1), w = in.dim_size(2), c = in.dim_size(3);
  Tensor out(in.dtype(), {n, c, h, w});
  for (int64_t b = 0; b < n; ++b) {
    for (int64_t p = 0; p < h * w; ++p) {
      for (int64_t k = 0; k < c; ++k) out.data<T>()[(b * c + k) * h * w + p] = in.data<T>()[(b * h * w + p) * c + k];
    }
  }
  return out;
}

Tensor Sizes(const Tensor& tensor) {
  std::vector<int32_t> sizes(tensor.shape().dim_sizes().begin(), tensor.shape().dim_sizes().end());
  return AsTensor<int32_t>(sizes);
}

class ConvolutionTest : public NnTest {
 protected:
  struct Results {
    Tensor output, input_gradient, filter_gradient;
  };
  template <typename T>
  void RunAll(const ConvolutionCase& c, bool channels_first, const std::string& prefix, Results* results) {
    const Attrs attrs = ConvolutionAttrs(c, channels_first);
    Tensor input = Scrambled<T>(TensorShape(c.input), 1);
    if (channels_first) input = ToChannelsFirst<T>(input);
    const Tensor filter = Scrambled<T>(TensorShape(c.filter), 2);
    ASSERT_OK_AND_ASSIGN(results->output,
                         RunOp1(prefix == "Conv2D" ? prefix : prefix + "Native", {input, filter}, attrs));
    const std::string gradient = prefix == "Conv2D" ? prefix : prefix + "Native";
    const Tensor dy = Scrambled<T>(results->output.shape(), 3);
    ASSERT_OK_AND_ASSIGN(results->input_gradient,
                         RunOp1(gradient + "BackpropInput", {Sizes(input), filter, dy}, attrs));
    ASSERT_OK_AND_ASSIGN(results->filter_gradient,
                         RunOp1(gradient + "BackpropFilter", {input, Sizes(filter), dy}, attrs));
  }
};

// Two implementations that have nothing in common but the geometry.
TEST_F(ConvolutionTest, TheLibraryAgreesWithMatrixProducts) {
  for (const ConvolutionCase& c : ConvolutionCases()) {
    for (bool channels_first : {false, true}) {
      Results fast, plain;
      RunAll<float>(c, channels_first, "Conv2D", &fast);
      RunAll<double>(c, channels_first, "Conv2D", &plain);
      if (HasFatalFailure()) return;
      const std::string context = absl::StrCat(TensorShape(c.input).ToString(), " ", channels_first ? "NCHW" : "NHWC");
      ExpectTensorEqual(fast.output, ToFloat<double>(plain.output), context + " output");
      ExpectTensorEqual(fast.input_gradient, ToFloat<double>(plain.input_gradient), context + " input gradient");
      ExpectTensorEqual(fast.filter_gradient, ToFloat<double>(plain.filter_gradient), context + " filter gradient");
    }
  }
}

TEST_F(ConvolutionTest, SixteenBitsAreNear) {
  const ConvolutionCase c = {{3, 8, 7, 2}, {3, 2, 2, 5}, {2, 1}, {1, 1}, "SAME"};
  Results plain, halves, brains;
  RunAll<double>(c, false, "Conv2D", &plain);
  RunAll<half>(c, false, "Conv2D", &halves);
  RunAll<bfloat16>(c, false, "Conv2D", &brains);
  ExpectTensorEqual(ToFloat<half>(halves.output), ToFloat<double>(plain.output));
  ExpectTensorEqual(ToFloat<bfloat16>(brains.output), ToFloat<double>(plain.output));
  ExpectTensorEqual(ToFloat<half>(halves.input_gradient), ToFloat<double>(plain.input_gradient));
  ExpectTensorEqual(ToFloat<bfloat16>(brains.input_gradient), ToFloat<double>(plain.input_gradient));
  ExpectTensorEqual(ToFloat<half>(halves.filter_gradient), ToFloat<double>(plain.filter_gradient));
  ExpectTensorEqual(ToFloat<bfloat16>(brains.filter_gradient), ToFloat<double>(plain.filter_gradient));
}

// A depthwise convolution is one with as many groups as channels.
TEST_F(ConvolutionTest, DepthwiseAgreesWithGroups) {
  const ConvolutionCase cases[] = {{{2, 6, 5, 3}, {3, 3, 3, 2}, {2, 2}, {1, 1}, "SAME"},
                                   {{1, 9, 8, 40}, {3, 2, 40, 1}, {1, 1}, {2, 1}},
                                   {{2, 5, 23, 33}, {3, 5, 33, 1}, {1, 2}, {1, 1}, "SAME"}};
  for (const ConvolutionCase& c : cases) {
    ConvolutionCase grouped = c;
    const int64_t channels = c.input[3], multiplier = c.filter[3];
    grouped.filter = {c.filter[0], c.filter[1], 1, channels * multiplier};  // the same bytes
    for (bool channels_first : {false, true}) {
      Results depthwise, plain;
      RunAll<float>(c, channels_first, "DepthwiseConv2d", &depthwise);
      RunAll<double>(grouped, channels_first, "Conv2D", &plain);
      if (HasFatalFailure()) return;
      ExpectTensorEqual(depthwise.output, ToFloat<double>(plain.output));
      ExpectTensorEqual(depthwise.input_gradient, ToFloat<double>(plain.input_gradient));
      ExpectTensorEqual(*depthwise.filter_gradient.Reshaped(plain.filter_gradient.shape()),
                        ToFloat<double>(plain.filter_gradient));
    }
  }
}

TEST_F(ConvolutionTest, ValuesAgreeWithTensorFlow) {
  const auto attrs = [](const std::string& padding, std::vector<int64_t> strides = {1, 1, 1, 1}) {
    return Attrs().Set("strides", strides).Set("padding", padding);
  };
  ExpectOutputs({
      {"Conv2D",
       {Counting({1, 3, 3, 1}), Counting({2, 2, 1, 1})},
       {M({19, 10, 7, 0}, {1, 2, 2, 1})},
       attrs("SAME", {1, 2, 2, 1})},
      {"Conv2D",
       {Counting({1, 2, 2, 1}), Counting({2, 2, 1, 1})},
       {M({3, 2, 14, 6}, {1, 2, 2, 1})},
       attrs("EXPLICIT").Set("explicit_paddings", std::vector<int64_t>{0, 0, 1, 0, 0, 1, 0, 0})},
      {"Conv2D",
       {Counting({1, 5, 5, 1}), Counting({2, 2, 1, 1})},
       {M({62, 68, 92, 98, 122, 128}, {1, 3, 2, 1})},
       attrs("VALID").Set("dilations", std::vector<int64_t>{1, 2, 3, 1})},
      {"Conv2D",
       {Counting({1, 2, 2, 4}), Counting({1, 1, 2, 4})},
       {M({4, 5, 22, 27, 20, 29, 54, 67, 36, 53, 86, 107, 52, 77, 118, 147}, {1, 2, 2, 4})},
       attrs("VALID")},
      {"Conv2D",
       {AsTensor<int32_t>({1, 2}, {1, 1, 2, 1}), AsTensor<int32_t>({3}, {1, 1, 1, 1})},
       {AsTensor<int32_t>({3, 6}, {1, 1, 2, 1})},
       attrs("VALID")},
      {"Conv2D",
       {Tensor(DT_FLOAT, {0, 3, 3, 1}), Counting({2, 2, 1, 1})},
       {Tensor(DT_FLOAT, {0, 2, 2, 1})},
       attrs("VALID")},
      {"Conv2DBackpropInput",
       {Ints({4, 4}), Counting({3, 3, 1, 1}), Counting({1, 2, 2, 1})},
       {M({0, 0, 1, 2, 0, 5, 11, 11, 6, 23, 29, 23, 12, 32, 37, 24}, {1, 4, 4, 1})},
       attrs("VALID")},
      {"Conv2DBackpropFilter",
       {Tensor(DT_FLOAT, {0, 3, 3, 1}), Ints({2, 2, 1, 1}), Tensor(DT_FLOAT, {0, 2, 2, 1})},
       {M({0, 0, 0, 0}, {2, 2, 1, 1})},
       attrs("VALID")},
      {"DepthwiseConv2dNative",
       {Counting({1, 2, 2, 2}), Counting({1, 1, 2, 2})},
       {M({0, 0, 2, 3, 0, 2, 6, 9, 0, 4, 10, 15, 0, 6, 14, 21}, {1, 2, 2, 4})},
       attrs("VALID")},
  });
}

TEST_F(ConvolutionTest, BadInputsAreErrors) {
  const Attrs valid = Attrs().Set("strides", std::vector<int64_t>{1, 1, 1, 1}).Set("padding", "VALID");
  const auto with = [](std::vector<int64_t> strides, std::vector<int64_t> dilations = {1, 1, 1, 1},
                       std::string padding = "VALID", std::vector<int64_t> pads = {}) {
    return Attrs()
        .Set("strides", strides)
        .Set("dilations", dilations)
        .Set("padding", padding)
        .Set("explicit_paddings", pads);
  };
  const int64_t huge = int64_t{1} << 31;
  const Tensor image = Counting({1, 4, 4, 1}), filter = Counting({3, 3, 1, 1});
  ExpectErrors({
      {"Conv2D", {Counting({1, 2, 1, 1}), Counting({4, 1, 1, 1})}, "Computed output size would be negative", valid},
      {"Conv2D",
       {Counting({1, 4, 4, 3}), Counting({3, 3, 2, 1})},
       "input depth must be evenly divisible by filter depth: 3 vs 2",
       valid},
      {"Conv2D", {Counting({4, 4, 3}), filter}, "input must be 4-dimensional", valid},
      {"Conv2D", {image, Counting({3, 3, 1})}, "filter must be 4-dimensional", valid},
      {"Conv2D", {image, Tensor(DT_FLOAT, {0, 2, 1, 1})}, "filter must not have zero elements", valid},
      {"Conv2D", {Tensor(DT_FLOAT, {1, 4, 4, 0}), filter}, "number of groups must be positive", valid},
      {"Conv2D", {image, filter}, "strides must be positive", with({1, 0, 1, 1})},
      {"Conv2D", {image, filter}, "strides", with({1, huge, 1, 1})},
      {"Conv2D", {image, filter}, "strides", with({1, 1})},
      {"Conv2D", {image, filter}, "strides in the batch", with({2, 1, 1, 1}), Code::kUnimplemented},
      {"Conv2D",
       {image, filter},
       "strides in the batch and depth dimensions",
       with({1, 1, 1, 2}),
       Code::kUnimplemented},
      {"Conv2D", {image, filter}, "dilations must be positive", with({1, 1, 1, 1}, {1, -1, 1, 1})},
      {"Conv2D", {image, filter}, "negative", with({1, 1, 1, 1}, {1, huge - 1, 1, 1})},
      {"Conv2D",
       {image, filter},
       "must be nonnegative",
       with({1, 1, 1, 1}, {1, 1, 1, 1}, "EXPLICIT", {0, 0, -1, 0, 0, 0, 0, 0})},
      {"Conv2D", {image, filter}, "must contain 8 values", with({1, 1, 1, 1}, {1, 1, 1, 1}, "EXPLICIT", {0, 0})},
      {"Conv2D", {image, filter}, "must be empty", with({1, 1, 1, 1}, {1, 1, 1, 1}, "SAME", {0, 0, 0, 0, 0, 0, 0, 0})},
      {"Conv2DBackpropInput",
       {Ints({1, 4, 4, 1}), filter, Counting({1, 3, 3, 1})},
       "Conv2DCustomBackpropInput: Size of out_backprop doesn't match computed: actual = 3, computed = 2 spatial_dim: "
       "1 "
       "input: 4 filter: 3 output: 3 stride: 1 dilation: 1",
       valid},
      {"Conv2DBackpropInput", {Ints({1, -4, 4, 1}), filter, Counting({1, 2, 2, 1})}, "", valid},
      {"Conv2DBackpropInput", {Ints({1}), filter, Counting({1, 2, 2, 1})}, "4 values or 2 values, but got: 1", valid},
      {"Conv2DBackpropFilter",
       {image, Ints({3, 3, 1, 1}), Counting({1, 3, 3, 1})},
       "Size of out_backprop doesn't match computed",
       valid},
      {"DepthwiseConv2dNative",
       {Counting({1, 4, 4, 2}), Counting({3, 3, 3, 1})},
       "must have the same depth: 2 vs 3",
       valid},
      {"DepthwiseConv2dNativeBackpropInput",
       {Ints({1, 4, 4, 1}), filter, Counting({1, 3, 3, 1})},
       "Number of rows of out_backprop doesn't match computed: actual = 3, computed = 2",
       valid},
  });
}

// --- Pooling ---

Attrs Window(std::vector<int64_t> ksize, std::vector<int64_t> strides, const std::string& padding,
             const std::string& format = "NHWC") {
  return Attrs().Set("ksize", ksize).Set("strides", strides).Set("padding", padding).Set("data_format", format);
}

TEST_F(NnTest, Pooling) {
  const std::vector<int64_t> two = {1, 2, 2, 1}, one = {1, 1, 1, 1}, first = {1, 1, 2, 2};
  ExpectOutputs({
      {"MaxPool", {Counting({1, 3, 3, 1})}, {M({4, 5, 7, 8}, {1, 2, 2, 1})}, Window(two, one, "VALID")},
      // A window that a stride would bring back fits nowhere.
      {"MaxPool", {Counting({1, 1, 1, 1})}, {M({}, {1, 0, 0, 1})}, Window({1, 4, 4, 1}, {1, 2, 2, 1}, "VALID")},
      {"MaxPool", {M({-3, -1}, {1, 1, 2, 1})}, {M({-1, -1}, {1, 1, 2, 1})}, Window(two, one, "SAME")},
      {"MaxPool", {Counting({1, 1, 2, 2})}, {M({3}, {1, 1, 1, 1})}, Window(first, first, "VALID", "NCHW")},
      {"MaxPool",
       {Counting({1, 2, 2, 4})},
       {M({1, 3, 5, 7, 9, 11, 13, 15}, {1, 2, 2, 2})},
       Window({1, 1, 1, 2}, {1, 1, 1, 2}, "VALID")},
      {"MaxPool",
       {Counting({1, 2, 2, 1})},
       {M({1, 1, 3, 3}, {1, 2, 2, 1})},
       Window(two, one, "EXPLICIT").Set("explicit_paddings", std::vector<int64_t>{0, 0, 1, 0, 0, 1, 0, 0})},
      {"MaxPool",
       {AsTensor<int32_t>({1, 5, 3}, {1, 1, 3, 1})},
       {AsTensor<int32_t>({5, 5}, {1, 1, 2, 1})},
       Window({1, 1, 2, 1}, one, "VALID")},
      {"MaxPoolV2",
       {Counting({1, 2, 2, 1}), Ints({1, 2, 2, 1}), Ints({1, 1, 1, 1})},
       {M({3}, {1, 1, 1, 1})},
       Attrs().Set("padding", "VALID")},
      {"MaxPoolGrad",
       {M({1, 1, 1, 1}, {1, 2, 2, 1}), M({1}, {1, 1, 1, 1}), M({5}, {1, 1, 1, 1})},
       {M({5, 0, 0, 0}, {1, 2, 2, 1})},
       Window(two, one, "VALID")},
      {"MaxPoolGrad",
       {M({1, 9, 1, 2}, {1, 1, 2, 2}), M({1, 9}, {1, 1, 1, 2}), M({5, 6}, {1, 1, 1, 2})},
       {M({5, 6, 0, 0}, {1, 1, 2, 2})},
       Window({1, 1, 2, 1}, one, "VALID")},
      {"AvgPool", {Counting({1, 3, 3, 1})}, {M({2, 3.5f, 6.5f, 8}, {1, 2, 2, 1})}, Window(two, two, "SAME")},
      {"AvgPool", {Counting({1, 1, 2, 2})}, {M({1.5f}, {1, 1, 1, 1})}, Window(first, first, "VALID", "NCHW")},
      {"AvgPoolGrad",
       {Ints({1, 3, 3, 1}), M({1, 1, 1, 1}, {1, 2, 2, 1})},
       {M({.25f, .25f, .5f, .25f, .25f, .5f, .5f, .5f, 1}, {1, 3, 3, 1})},
       Window(two, two, "SAME")},
      {"MaxPool", {Counting({1, 1, 1, 1})}, {Counting({1, 1, 1, 1})}, Window({1, 1 << 30, 1 << 30, 1}, one, "SAME")},
  });
  ExpectErrors({
      {"MaxPool",
       {Counting({1, 2, 2, 1})},
       "ksize must be positive. The specified or inferred ksize is: 1,0,3,1",
       Window({1, 0, 3, 1}, one, "SAME")},
      {"MaxPool", {Counting({1, 2, 2, 1})}, "negative", Window({1, 9, 9, 1}, one, "VALID")},
      {"MaxPool", {Counting({2, 2, 1})}, "tensor_in must be 4-dimensional", Window(two, one, "VALID")},
      {"MaxPool",
       {Counting({1, 2, 2, 3})},
       "evenly divide",
       Window({1, 1, 1, 2}, {1, 1, 1, 2}, "VALID"),
       Code::kUnimplemented},
      {"MaxPoolV2",
       {Counting({1, 2, 2, 1}), Ints({1, 3}), Ints({1, 1, 1, 1})},
       "ksize field must specify 4 dimensions",
       Attrs().Set("padding", "VALID")},
      {"MaxPoolGrad",
       {M({3, 1}, {1, 1, 2, 1}), M({3}, {1, 1, 1, 1}), M({5, 1}, {1, 1, 2, 1})},
       "Expected grad shape to be [1,1,1,1], but got [1,1,2,1]",
       Window({1, 1, 2, 1}, one, "VALID")},
      {"AvgPool",
       {Counting({1, 2, 2, 4})},
       "not yet supported",
       Window({1, 1, 1, 2}, {1, 1, 1, 2}, "VALID"),
       Code::kUnimplemented},
      {"AvgPoolGrad", {Ints({1, 3, 3}), M({1}, {1, 1, 1, 1})}, "4-dimensional", Window(two, two, "SAME")},
  });
}

// --- Normalisation ---

TEST_F(NnTest, BatchNormalisation) {
  const Attrs train = Attrs().Set("epsilon", 0.01f).Set("is_training", true);
  const Attrs infer = Attrs().Set("epsilon", 0.01f).Set("is_training", false);
  const Attrs mixed = Attrs().Set("epsilon", 0.01f).Set("is_training", true).Set("exponential_avg_factor", 0.3f);
  const Tensor none = Tensor(DT_FLOAT, {0}), y = M({-1.6726124f, 0.10912919f, 1.8908708f, 3.6726124f}, {1, 2, 2, 1});
  const Tensor x = M({1, 2, 4, 8}, {1, 2, 2, 1}), mean = V({3.75f}), variance = V({7.1875f});
  ExpectOutputs({
      {"FusedBatchNormV3",
       {Counting({1, 2, 2, 1}), V({2}), V({1}), none, none},
       {y, V({1.5f}), V({1.6666667f}), V({1.5f}), V({1.25f}), none},
       train},
      {"FusedBatchNorm",
       {Counting({1, 2, 2, 1}), V({2}), V({1}), none, none},
       {y, V({1.5f}), V({1.6666667f}), V({1.5f}), V({1.25f})},
       train},
      {"FusedBatchNormV3",
       {Counting({1, 2, 2, 1}), V({2}), V({1}), V({10}), V({20})},
       {y, V({7.45f}), V({14.5f}), V({1.5f}), V({1.25f}), none},
       mixed},
      {"FusedBatchNormV3",
       {Counting({1, 2, 2, 1}), V({2}), V({1}), V({.5f}), V({2})},
       {M({0.29465103f, 1.705349f, 3.116047f, 4.526745f}, {1, 2, 2, 1}), V({.5f}), V({2}), V({.5f}), V({2}), none},
       infer},
      {"FusedBatchNormV3",
       {Counting({1, 1, 1, 1}), V({2}), V({1}), none, none},
       {M({1}, {1, 1, 1, 1}), V({0}), V({0}), V({0}), V({0})},
       train},
      {"FusedBatchNormGradV3",
       {Counting({1, 2, 2, 1}), x, V({2}), mean, variance, none},
       {M({-0.29933354f, 0.14837204f, 0.29829776f, -0.14733627f}, {1, 2, 2, 1}), V({4.286541f}), V({6}),
        AsScalar<float>(0), AsScalar<float>(0)},
       train},
      {"FusedBatchNormGradV3",
       {Counting({1, 2, 2, 1}), x, V({2}), mean, variance, none},
       {M({0, 0.7454854f, 1.4909708f, 2.2364564f}, {1, 2, 2, 1}), V({4.286541f}), V({6})},
       infer},
  });
  ExpectErrors({
      {"FusedBatchNormV3",
       {Counting({1, 2, 2, 1}), V({2, 1}), V({1}), none, none},
       "scale must have the same number of elements as the channels of x, got 2 and 1",
       train},
      {"FusedBatchNormV3",
       {Counting({1, 2, 2, 1}), V({2}), V({1}), none, none},
       "mean must have the same number",
       infer},
      {"FusedBatchNormV3", {Counting({2, 1}), V({2}), V({1}), none, none}, "input must be 4 or 5-dimensional", train},
      {"FusedBatchNormGradV3",
       {Counting({1, 2, 2, 1}), Counting({1, 2, 1, 1}), V({2}), mean, variance, none},
       "must have same shape",
       train},
  });
}

TEST_F(NnTest, BatchNormalisationAgreesBetweenLayouts) {
  const Tensor x = Scrambled<float>({3, 5, 4, 6}, 1), dy = Scrambled<float>({3, 5, 4, 6}, 2);
  const Tensor scale = V({1, 2, 3, 4, 5, 6}), none = Tensor(DT_FLOAT, {0});
  const Attrs first = Attrs().Set("data_format", "NCHW");
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> last, RunOp("FusedBatchNormV3", {x, scale, scale, none, none}));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> planes,
                       RunOp("FusedBatchNormV3", {ToChannelsFirst<float>(x), scale, scale, none, none}, first));
  ExpectTensorNear(planes[0], ToChannelsFirst<float>(last[0]));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> g, RunOp("FusedBatchNormGradV3", {dy, x, scale, last[3], last[4], none}));
  ASSERT_OK_AND_ASSIGN(
      std::vector<Tensor> h,
      RunOp("FusedBatchNormGradV3",
            {ToChannelsFirst<float>(dy), ToChannelsFirst<float>(x), scale, last[3], last[4], none}, first));
  ExpectTensorNear(h[0], ToChannelsFirst<float>(g[0]));
  for (int i : {1, 2}) ExpectTensorNear(h[i], g[i], 1e-4);
}

TEST_F(NnTest, LocalResponseNormalisation) {
  const Attrs attrs = Attrs().Set("depth_radius", 1).Set("bias", 1.0f).Set("alpha", 0.5f).Set("beta", 0.75f);
  const Tensor x = Counting({1, 1, 1, 4});
  ExpectOutputs({{"LRN", {x}, {M({0, 0.39079496f, 0.4204482f, 0.6619501f}, {1, 1, 1, 4})}, attrs},
                 {"LRNGrad", {x, x, x}, {M({0, -0.19849075f, -2.5581234f, -3.1630497f}, {1, 1, 1, 4})}, attrs}});
  ExpectErrors(
      {{"LRN", {V({1})}, "4-dimensional", attrs}, {"LRN", {x}, "depth_radius", Attrs().Set("depth_radius", -1)}});
}

// --- The largest ---

TEST_F(NnTest, LargestElements) {
  const Attrs reverse = Attrs().Set("reverse", true);
  ExpectOutputs({
      {"TopKV2", {V({1, 3, 3, 2}), AsScalar<int32_t>(3)}, {V({3, 3, 2}), Ints({1, 2, 3})}},
      {"TopKV2",
       {M({1, 3, 5, 2}, {2, 2}), AsScalar<int64_t>(1)},
       {M({3, 5}, {2, 1}), AsTensor<int64_t>({1, 0}, {2, 1})},
       Attrs().Set("index_type", DT_INT64)},
      {"TopKV2", {V({1, 3}), AsScalar<int16_t>(0)}, {Tensor(DT_FLOAT, {0}), Tensor(DT_INT32, {0})}},
      {"TopK", {V({1, 3, 2})}, {V({3, 2}), Ints({1, 2})}, Attrs().Set("k", 2)},
      {"TopKV2", {V({kNaN, 1, kNaN, 3}), AsScalar<int32_t>(4)}, {V({kNaN, kNaN, 3, 1}), Ints({0, 2, 3, 1})}},
      {"InTopKV2",
       {M({1, 3, 3, 2, 1, kNaN, 0, 0, 1, kInf, 0, 0, 0, 1, 2, 3}, {4, 4}), Ints({2, 1, 0, 9}), AsScalar<int32_t>(2)},
       {AsTensor<bool>({true, false, false, false})}},
      {"InTopK", {M({1, 2}, {1, 2}), Ints({0})}, {AsTensor<bool>({false})}, Attrs().Set("k", 1)},
      {"NthElement", {M({1, 3, 2, 5, 4, 6}, {2, 3}), AsScalar<int32_t>(1)}, {V({2, 5})}},
      {"NthElement", {M({1, 3, 2, 5, 4, 6}, {2, 3}), AsScalar<int32_t>(0)}, {V({3, 6})}, reverse},
  });
  ExpectErrors({
      {"TopKV2", {V({1, 3}), AsScalar<int32_t>(3)}, "input must have at least k columns. Had 2, needed 3"},
      {"TopKV2", {V({1, 3}), AsScalar<int32_t>(-3)}, "Need k >= 0, got -3"},
      {"TopKV2", {V({1, 3}), Ints({1})}, "k must be scalar, got shape [1]"},
      {"TopKV2", {AsScalar<float>(1), AsScalar<int32_t>(1)}, "input must be >= 1-D, got shape []"},
      {"InTopKV2",
       {M({1, 3}, {1, 2}), Ints({1, 1}), AsScalar<int32_t>(2)},
       "First dimension of predictions 1 must match length of targets 2"},
      {"NthElement", {M({1, 3}, {1, 2}), AsScalar<int32_t>(5)}, "Input must have last dimension > n = 5"},
      {"NthElement", {AsScalar<float>(1), AsScalar<int32_t>(0)}, "Input must be at least rank 1 but is rank 0"},
  });
}

}  // namespace
}  // namespace weir
