// Gradients of convolutions, pooling and normalisation.

#include "graph/gradients/copied_attrs.h"
#include "graph/gradients/gradient_context.h"
#include "kernels/convolution/family.h"

namespace weir {
namespace {

using G = GradientContext;

constexpr std::initializer_list<const char*> kConvAttrs = {"strides",     "padding",   "explicit_paddings",
                                                           "data_format", "dilations", "use_cudnn_on_gpu"};
constexpr std::initializer_list<const char*> kDepthwiseAttrs = {"strides", "padding", "explicit_paddings",
                                                                "data_format", "dilations"};

absl::Status Conv2D(G& g) {
  const auto attrs = CopiedAttrs(g, kConvAttrs);
  const Output x = g.input(0), w = g.input(1), dy = g.dy();
  g.set_grad(0, g.Call("Conv2DBackpropInput", {g.Call("Shape", {x}), w, dy}, attrs));
  g.set_grad(1, g.Call("Conv2DBackpropFilter", {x, g.Call("Shape", {w}), dy}, attrs));
  return absl::OkStatus();
}
absl::Status Conv2DBackpropInput(G& g) {
  const auto attrs = CopiedAttrs(g, kConvAttrs);
  const Output w = g.input(1), out_backprop = g.input(2), dy = g.dy();
  g.set_grad(1, g.Call("Conv2DBackpropFilter", {dy, g.Call("Shape", {w}), out_backprop}, attrs));
  g.set_grad(2, g.Call("Conv2D", {dy, w}, attrs));
  return absl::OkStatus();
}
absl::Status Conv2DBackpropFilter(G& g) {
  const auto attrs = CopiedAttrs(g, kConvAttrs);
  const Output x = g.input(0), out_backprop = g.input(2), dy = g.dy();
  g.set_grad(0, g.Call("Conv2DBackpropInput", {g.Call("Shape", {x}), dy, out_backprop}, attrs));
  g.set_grad(2, g.Call("Conv2D", {x, dy}, attrs));
  return absl::OkStatus();
}
absl::Status DepthwiseConv2d(G& g) {
  const auto attrs = CopiedAttrs(g, kDepthwiseAttrs);
  const Output x = g.input(0), w = g.input(1), dy = g.dy();
  g.set_grad(0, g.Call("DepthwiseConv2dNativeBackpropInput", {g.Call("Shape", {x}), w, dy}, attrs));
  g.set_grad(1, g.Call("DepthwiseConv2dNativeBackpropFilter", {x, g.Call("Shape", {w}), dy}, attrs));
  return absl::OkStatus();
}

absl::Status DepthwiseBackpropInput(G& g) {
  const auto attrs = CopiedAttrs(g, kDepthwiseAttrs);
  const Output w = g.input(1), out_backprop = g.input(2), dy = g.dy();
  g.set_grad(1, g.Call("DepthwiseConv2dNativeBackpropFilter", {dy, g.Call("Shape", {w}), out_backprop}, attrs));
  g.set_grad(2, g.Call("DepthwiseConv2dNative", {dy, w}, attrs));
  return absl::OkStatus();
}
absl::Status DepthwiseBackpropFilter(G& g) {
  const auto attrs = CopiedAttrs(g, kDepthwiseAttrs);
  const Output x = g.input(0), out_backprop = g.input(2), dy = g.dy();
  g.set_grad(0, g.Call("DepthwiseConv2dNativeBackpropInput", {g.Call("Shape", {x}), dy, out_backprop}, attrs));
  g.set_grad(2, g.Call("DepthwiseConv2dNative", {x, dy}, attrs));
  return absl::OkStatus();
}

absl::Status MaxPool(G& g) {
  g.set_grad(0, g.Call("MaxPoolGrad", {g.input(0), g.output(0), g.dy()},
                       CopiedAttrs(g, {"ksize", "strides", "padding", "explicit_paddings", "data_format"})));
  return absl::OkStatus();
}
absl::Status MaxPoolV2(G& g) {
  g.set_grad(0, g.Call("MaxPoolGradV2", {g.input(0), g.output(0), g.dy(), g.input(1), g.input(2)},
                       CopiedAttrs(g, {"padding", "data_format"})));
  return absl::OkStatus();
}
absl::Status AvgPool(G& g) {
  g.set_grad(0, g.Call("AvgPoolGrad", {g.Call("Shape", {g.input(0)}), g.dy()},
                       CopiedAttrs(g, {"ksize", "strides", "padding", "data_format"})));
  return absl::OkStatus();
}

// Linear in dy: averaging again.
absl::Status AvgPoolGrad(G& g) {
  g.set_grad(1, g.Call("AvgPool", {g.dy()}, CopiedAttrs(g, {"ksize", "strides", "padding", "data_format"})));
  return absl::OkStatus();
}

// In training the op saves what its gradient needs; in inference the given moments take that place.
absl::Status FusedBatchNorm(G& g, const char* grad_op) {
  const bool training = g.Attr<bool>("is_training");
  std::vector<Input> inputs = {g.dy(), g.input(0), g.input(1), training ? g.output(3) : g.input(3),
                               training ? g.output(4) : g.input(4)};
  const std::string name = grad_op;
  if (name == "FusedBatchNormGradV3") inputs.push_back(g.output(5));
  const Output dx = g.Call(grad_op, inputs, CopiedAttrs(g, {"epsilon", "data_format", "is_training"}));
  for (int i = 0; i < 3; ++i) g.set_grad(i, Output(dx.op(), i));
  return absl::OkStatus();
}
absl::Status FusedBatchNormV1(G& g) { return FusedBatchNorm(g, "FusedBatchNormGrad"); }
absl::Status FusedBatchNormV2(G& g) { return FusedBatchNorm(g, "FusedBatchNormGradV2"); }
absl::Status FusedBatchNormV3(G& g) { return FusedBatchNorm(g, "FusedBatchNormGradV3"); }

absl::Status Lrn(G& g) {
  g.set_grad(0, g.Call("LRNGrad", {g.dy(), g.input(0), g.output(0)},
                       CopiedAttrs(g, {"depth_radius", "bias", "alpha", "beta"})));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterWindowGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Conv2D", Conv2D},
      {"Conv2DBackpropInput", Conv2DBackpropInput},
      {"Conv2DBackpropFilter", Conv2DBackpropFilter},
      {"DepthwiseConv2dNative", DepthwiseConv2d},
      {"DepthwiseConv2dNativeBackpropInput", DepthwiseBackpropInput},
      {"DepthwiseConv2dNativeBackpropFilter", DepthwiseBackpropFilter},
      {"MaxPool", MaxPool},
      {"MaxPoolV2", MaxPoolV2},
      {"AvgPool", AvgPool},
      {"AvgPoolGrad", AvgPoolGrad},
      {"FusedBatchNorm", FusedBatchNormV1},
      {"FusedBatchNormV2", FusedBatchNormV2},
      {"FusedBatchNormV3", FusedBatchNormV3},
      {"LRN", Lrn},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
