#include "client/layers/convolution.h"

#include <algorithm>
#include <utility>

#include "client/layers/rows.h"
#include "client/ops.h"

namespace weir {
namespace layers {
namespace {

std::vector<int64_t> OverImage(int64_t value) { return {1, value, value, 1}; }

Tensor Axis(int32_t axis) { return Tensor::Scalar<int32_t>(axis); }

}  // namespace

void Convolution::MakeVariables(absl::string_view kernel, const TensorShape& shape, int64_t outputs) {
  const LayerOptions& layer = options_.layer;
  weights_ = MakeVariable(kernel, shape, layer, layer.weights ? layer.weights : initializers::GlorotUniform());
  if (layer.use_bias) bias_ = MakeVariable("bias", TensorShape({outputs}), layer, layer.bias);
}

Output Convolution::Finish(const Scope& scope, const Output& y) const {
  return Activate(scope, bias_.valid() ? ops::BiasAdd(scope, y, bias_.value()) : y, options_.activation);
}

Conv2D::Conv2D(const OpScope& at, int64_t inputs, int64_t filters, int64_t kernel_size, ConvolutionOptions options)
    : Convolution(at, "conv2d", std::move(options)) {
  MakeVariables("kernel", TensorShape({kernel_size, kernel_size, inputs, filters}), filters);
}

Conv2D::Conv2D(const OpScope& at, int64_t inputs, int64_t filters, int64_t kernel_size, int64_t stride,
               std::string padding, Activation activation, const LayerOptions& options)
    : Conv2D(at, inputs, filters, kernel_size,
             ConvolutionOptions{
                 .stride = stride, .padding = std::move(padding), .activation = activation, .layer = options}) {}

Output Conv2D::operator()(const OpScope& at, const Output& x) const {
  const Scope scope = at.Located();
  return Finish(scope, ops::Conv2D(scope, x, weights().value(), OverImage(options().stride), options().padding,
                                   {.dilations = OverImage(options().dilation)}));
}

Conv1D::Conv1D(const OpScope& at, int64_t inputs, int64_t filters, int64_t kernel_size, ConvolutionOptions options)
    : Convolution(at, "conv1d", std::move(options)), kernel_size_(kernel_size) {
  MakeVariables("kernel", TensorShape({kernel_size, inputs, filters}), filters);
}

// As an image of height 1.
Output Conv1D::operator()(const OpScope& at, const Output& x) const {
  const Scope scope = at.Located();
  const bool causal = options().padding == "CAUSAL";
  Output padded = x;
  if (causal) {
    Tensor paddings(DT_INT32, TensorShape({3, 2}));
    std::fill_n(paddings.data<int32_t>(), 6, 0);
    paddings.data<int32_t>()[2] = static_cast<int32_t>((kernel_size_ - 1) * options().dilation);
    padded = ops::Pad(scope, x, paddings);
  }
  const Output image = ops::ExpandDims(scope, padded, Axis(1));
  const Output kernel = ops::ExpandDims(scope, weights().value(), Axis(0));
  const Output y = ops::Conv2D(scope, image, kernel, {1, 1, options().stride, 1}, causal ? "VALID" : options().padding,
                               {.dilations = {1, 1, options().dilation, 1}});
  return Finish(scope, ops::Squeeze(scope, y, {.squeeze_dims = {1}}));
}

Conv2DTranspose::Conv2DTranspose(const OpScope& at, int64_t inputs, int64_t filters, int64_t kernel_size,
                                 ConvolutionOptions options)
    : Convolution(at, "conv2d_transpose", std::move(options)), filters_(filters), kernel_size_(kernel_size) {
  MakeVariables("kernel", TensorShape({kernel_size, kernel_size, filters, inputs}), filters);
}

Output Conv2DTranspose::operator()(const OpScope& at, const Output& x) const {
  const Scope scope = at.Located();
  const auto stride = static_cast<int32_t>(options().stride), filters = static_cast<int32_t>(filters_);
  const auto more =
      options().padding == "VALID" ? std::max(static_cast<int32_t>(kernel_size_) - stride, 0) : int32_t{0};
  // [batch, height · stride + more, width · stride + more, filters]
  const Output scaled = ops::Mul(scope, ops::Shape(scope, x), Tensor::Vector<int32_t>({1, stride, stride, 0}));
  const Output shape = ops::AddV2(scope, scaled, Tensor::Vector<int32_t>({0, more, more, filters}));
  return Finish(scope, ops::Conv2DBackpropInput(scope, shape, weights().value(), x, OverImage(options().stride),
                                                options().padding));
}

DepthwiseConv2D::DepthwiseConv2D(const OpScope& at, int64_t inputs, int64_t kernel_size, int64_t multiplier,
                                 ConvolutionOptions options)
    : Convolution(at, "depthwise_conv2d", std::move(options)) {
  MakeVariables("depthwise_kernel", TensorShape({kernel_size, kernel_size, inputs, multiplier}), inputs * multiplier);
}

Output DepthwiseConv2D::operator()(const OpScope& at, const Output& x) const {
  const Scope scope = at.Located();
  return Finish(scope, ops::DepthwiseConv2dNative(scope, x, weights().value(), OverImage(options().stride),
                                                  options().padding, {.dilations = OverImage(options().dilation)}));
}

Output MaxPool2D(const OpScope& scope, const Output& x, int64_t size, int64_t stride, const std::string& padding) {
  return ops::MaxPool(scope, x, OverImage(size), OverImage(stride), padding);
}

Output AvgPool2D(const OpScope& scope, const Output& x, int64_t size, int64_t stride, const std::string& padding) {
  return ops::AvgPool(scope, x, OverImage(size), OverImage(stride), padding);
}

Output MaxPool1D(const OpScope& at, const Output& x, int64_t size, int64_t stride, const std::string& padding) {
  const Scope scope = at.Located();
  const Output image = ops::ExpandDims(scope, x, Axis(1));
  const Output y = ops::MaxPool(scope, image, {1, 1, size, 1}, {1, 1, stride, 1}, padding);
  return ops::Squeeze(scope, y, {.squeeze_dims = {1}});
}

Output AvgPool1D(const OpScope& at, const Output& x, int64_t size, int64_t stride, const std::string& padding) {
  const Scope scope = at.Located();
  const Output image = ops::ExpandDims(scope, x, Axis(1));
  const Output y = ops::AvgPool(scope, image, {1, 1, size, 1}, {1, 1, stride, 1}, padding);
  return ops::Squeeze(scope, y, {.squeeze_dims = {1}});
}

Output GlobalMaxPool2D(const OpScope& scope, const Output& x) {
  return ops::Max(scope, x, Tensor::Vector<int32_t>({1, 2}));
}

Output GlobalAvgPool2D(const OpScope& scope, const Output& x) {
  return ops::Mean(scope, x, Tensor::Vector<int32_t>({1, 2}));
}

}  // namespace layers
}  // namespace weir
