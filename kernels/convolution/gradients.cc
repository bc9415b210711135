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

}  // namespace

absl::Status RegisterConvolutionGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Conv2D", Conv2D},
      {"Conv2DBackpropInput", Conv2DBackpropInput},
      {"Conv2DBackpropFilter", Conv2DBackpropFilter},
      {"DepthwiseConv2dNative", DepthwiseConv2d},
      {"DepthwiseConv2dNativeBackpropInput", DepthwiseBackpropInput},
      {"DepthwiseConv2dNativeBackpropFilter", DepthwiseBackpropFilter},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
