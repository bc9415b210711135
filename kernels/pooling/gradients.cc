#include "graph/gradients/copied_attrs.h"
#include "graph/gradients/gradient_context.h"
#include "kernels/pooling/family.h"

namespace weir {
namespace {

using G = GradientContext;

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

// AvgPoolGrad is linear in dy, so its gradient is an average again.
absl::Status AvgPoolGrad(G& g) {
  g.set_grad(1, g.Call("AvgPool", {g.dy()}, CopiedAttrs(g, {"ksize", "strides", "padding", "data_format"})));
  return absl::OkStatus();
}

std::vector<G::AttrSetter> PoolAttrs(G& g) { return CopiedAttrs(g, {"ksize", "strides", "padding", "data_format"}); }
absl::Status AvgPool3D(G& g) {
  g.set_grad(0, g.Call("AvgPool3DGrad", {g.Call("Shape", {g.input(0)}), g.dy()}, PoolAttrs(g)));
  return absl::OkStatus();
}
absl::Status AvgPool3DGrad(G& g) {
  g.set_grad(1, g.Call("AvgPool3D", {g.dy()}, PoolAttrs(g)));
  return absl::OkStatus();
}

// Maximum pooling routes dy to the place of each maximum; its second-order gradient is gathered from there.
absl::Status MaxPool3D(G& g) {
  g.set_grad(0, g.Call("MaxPool3DGrad", {g.input(0), g.output(0), g.dy()}, PoolAttrs(g)));
  return absl::OkStatus();
}
template <const char* kGradGrad>
absl::Status MaxPoolGrad(G& g) {
  for (int i : {0, 1}) g.set_grad(i, g.Call("ZerosLike", {g.input(i)}));
  g.set_grad(2, g.Call(kGradGrad, {g.input(0), g.input(1), g.dy()}, PoolAttrs(g)));
  return absl::OkStatus();
}
absl::Status MaxPoolGradV2(G& g) {
  for (int i : {0, 1}) g.set_grad(i, g.Call("ZerosLike", {g.input(i)}));
  g.set_grad(2, g.Call("MaxPoolGradGradV2", {g.input(0), g.input(1), g.dy(), g.input(3), g.input(4)}, PoolAttrs(g)));
  return absl::OkStatus();
}
template <const char* kGrad>
absl::Status MaxPoolGradGrad(G& g) {
  for (int i : {0, 1}) g.set_grad(i, g.Call("ZerosLike", {g.input(i)}));
  g.set_grad(2, g.Call(kGrad, {g.input(0), g.input(1), g.dy()}, PoolAttrs(g)));
  return absl::OkStatus();
}
constexpr char kMax3DGrad[] = "MaxPool3DGrad", kMax3DGradGrad[] = "MaxPool3DGradGrad", kMaxGrad[] = "MaxPoolGrad",
               kMaxGradGrad[] = "MaxPoolGradGrad";

absl::Status MaxPoolWithArgmax(G& g) {
  g.set_grad(0, g.Call("MaxPoolGradWithArgmax", {g.input(0), g.dy(0), g.output(1)},
                       CopiedAttrs(g, {"ksize", "strides", "padding", "include_batch_in_index"})));
  return absl::OkStatus();
}

absl::Status FractionalMaxPool(G& g) {
  g.set_grad(0, g.Call("FractionalMaxPoolGrad", {g.input(0), g.output(0), g.dy(), g.output(1), g.output(2)},
                       {G::Set("overlapping", g.Attr<bool>("overlapping"))}));
  return absl::OkStatus();
}
absl::Status FractionalAvgPool(G& g) {
  const Output shape = g.Call("Shape", {g.input(0)}, {G::Set("out_type", DT_INT64)});
  g.set_grad(0, g.Call("FractionalAvgPoolGrad", {shape, g.dy(), g.output(1), g.output(2)},
                       {G::Set("overlapping", g.Attr<bool>("overlapping"))}));
  return absl::OkStatus();
}

absl::Status Dilation2D(G& g) {
  const auto attrs = CopiedAttrs(g, {"strides", "rates", "padding"});
  g.set_grad(0, g.Call("Dilation2DBackpropInput", {g.input(0), g.input(1), g.dy()}, attrs));
  g.set_grad(1, g.Call("Dilation2DBackpropFilter", {g.input(0), g.input(1), g.dy()}, attrs));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterPoolingGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"MaxPool", MaxPool},
      {"MaxPoolV2", MaxPoolV2},
      {"AvgPool", AvgPool},
      {"AvgPoolGrad", AvgPoolGrad},
      {"AvgPool3D", AvgPool3D},
      {"AvgPool3DGrad", AvgPool3DGrad},
      {"MaxPool3D", MaxPool3D},
      {"MaxPool3DGrad", MaxPoolGrad<kMax3DGradGrad>},
      {"MaxPool3DGradGrad", MaxPoolGradGrad<kMax3DGrad>},
      {"MaxPoolGrad", MaxPoolGrad<kMaxGradGrad>},
      {"MaxPoolGradV2", MaxPoolGradV2},
      {"MaxPoolGradGrad", MaxPoolGradGrad<kMaxGrad>},
      {"MaxPoolWithArgmax", MaxPoolWithArgmax},
      {"FractionalMaxPool", FractionalMaxPool},
      {"FractionalAvgPool", FractionalAvgPool},
      {"Dilation2D", Dilation2D},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
