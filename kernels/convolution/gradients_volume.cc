#include "graph/gradients/copied_attrs.h"
#include "graph/gradients/gradient_context.h"
#include "kernels/convolution/family.h"

namespace weir {
namespace {

using G = GradientContext;

std::vector<G::AttrSetter> VolumeConvolutionAttrs(G& g) {
  return CopiedAttrs(g, {"strides", "padding", "data_format", "dilations"});
}

absl::Status Conv3D(G& g) {
  const auto attrs = VolumeConvolutionAttrs(g);
  const Output x = g.input(0), w = g.input(1), dy = g.dy();
  g.set_grad(0, g.Call("Conv3DBackpropInputV2", {g.Call("Shape", {x}), w, dy}, attrs));
  g.set_grad(1, g.Call("Conv3DBackpropFilterV2", {x, g.Call("Shape", {w}), dy}, attrs));
  return absl::OkStatus();
}
absl::Status Conv3DBackpropInput(G& g) {
  const auto attrs = VolumeConvolutionAttrs(g);
  const Output w = g.input(1), out_backprop = g.input(2), dy = g.dy();
  g.set_grad(1, g.Call("Conv3DBackpropFilterV2", {dy, g.Call("Shape", {w}), out_backprop}, attrs));
  g.set_grad(2, g.Call("Conv3D", {dy, w}, attrs));
  return absl::OkStatus();
}
absl::Status Conv3DBackpropFilter(G& g) {
  const auto attrs = VolumeConvolutionAttrs(g);
  const Output x = g.input(0), out_backprop = g.input(2), dy = g.dy();
  g.set_grad(0, g.Call("Conv3DBackpropInputV2", {g.Call("Shape", {x}), dy, out_backprop}, attrs));
  g.set_grad(2, g.Call("Conv3D", {x, dy}, attrs));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterVolumeConvolutionGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Conv3D", Conv3D},
      {"Conv3DBackpropInputV2", Conv3DBackpropInput},
      {"Conv3DBackpropFilterV2", Conv3DBackpropFilter},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
