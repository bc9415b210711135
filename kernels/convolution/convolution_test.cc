#include "kernels/device/kernel_cases_testing.h"

namespace weir {
namespace {

using Code = absl::StatusCode;

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

Tensor Sizes(const Tensor& tensor) {
  std::vector<int32_t> sizes(tensor.shape().dim_sizes().begin(), tensor.shape().dim_sizes().end());
  return AsTensor<int32_t>(sizes);
}

class ConvolutionTest : public KernelCasesTest {
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
      {"Conv2D",
       {Counting({1, 2, 2, 1}), Tensor(DT_FLOAT, {1, 1, 1, 0})},
       {Tensor(DT_FLOAT, {1, 2, 2, 0})},
       attrs("VALID")},
      {"Conv2D", {Tensor(DT_FLOAT, {1, 1, 2, 0}), Counting({1, 1, 2, 1})}, {M({0, 0}, {1, 1, 2, 1})}, attrs("VALID")},
      {"Conv2DBackpropFilter",
       {Counting({1, 2, 2, 1}), Ints({1, 1, 1, 0}), Tensor(DT_FLOAT, {1, 2, 2, 0})},
       {Tensor(DT_FLOAT, {1, 1, 1, 0})},
       attrs("VALID")},
      {"Conv2DBackpropInput",
       {Ints({1, 1, 2, 1}), Tensor(DT_FLOAT, {1, 1, 1, 0}), Tensor(DT_FLOAT, {1, 1, 2, 0})},
       {M({0, 0}, {1, 1, 2, 1})},
       attrs("VALID")},
      {"DepthwiseConv2dNative",
       {Counting({1, 1, 2, 2}), Tensor(DT_FLOAT, {0, 1, 2, 1})},
       {M({0, 0, 0, 0}, {1, 1, 2, 2})},
       attrs("SAME")},
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
      {"Conv2D", {Counting({4, 4, 3}), filter}, "convolution input must be 4-dimensional", valid},
      {"Conv2D", {image, Counting({3, 3, 1})}, "filter must be 4-dimensional", valid},
      {"Conv2D", {image, Tensor(DT_FLOAT, {0, 2, 1, 1})}, "filter must not have zero elements", valid},
      {"Conv2D", {image, Tensor(DT_FLOAT, {2, 2, 0, 1})}, "filter depth must be stricly positive, got 0", valid},
      {"Conv2D", {image, filter}, "Row and column strides should be larger than 0", with({1, 0, 1, 1})},
      {"Conv2D", {Counting({4, 4, 3}), filter}, "Row and column strides should be larger than 0", with({1, 0, 1, 1})},
      {"Conv2D", {image, filter}, "strides in the batch", with({0, 1, 1, 1}), Code::kUnimplemented},
      {"Conv2DBackpropFilter",
       {image, Ints({3, 3, 1, 1}), Counting({1, 2, 2, 1})},
       "strides in the batch and depth dimensions",
       with({2, 1, 1, 1})},
      {"Conv2DBackpropFilter",
       {image, Ints({3, 3, 0, 1}), Counting({1, 2, 2, 1})},
       "filter depth must be strictly greated than zero",
       valid},
      {"Conv2D", {image, filter}, "strides", with({1, huge, 1, 1})},
      {"Conv2D", {image, filter}, "strides", with({1, 1})},
      {"Conv2D", {image, filter}, "strides in the batch", with({2, 1, 1, 1}), Code::kUnimplemented},
      {"Conv2D",
       {image, filter},
       "strides in the batch and depth dimensions",
       with({1, 1, 1, 2}),
       Code::kUnimplemented},
      {"Conv2D", {image, filter}, "Dilated rates should be larger than 0", with({1, 1, 1, 1}, {1, -1, 1, 1})},
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

}  // namespace
}  // namespace weir
