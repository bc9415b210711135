// Gradients of convolutions and pooling over three dimensions, and of pooling with its places.

#include "graph/gradients/copied_attrs.h"
#include "graph/gradients/gradient_context.h"
#include "kernels/convolution/family.h"

namespace weir {
namespace {

using G = GradientContext;

std::vector<G::AttrSetter> ConvAttrs(G& g) {
  return CopiedAttrs(g, {"strides", "padding", "data_format", "dilations"});
}
std::vector<G::AttrSetter> PoolAttrs(G& g) { return CopiedAttrs(g, {"ksize", "strides", "padding", "data_format"}); }
Output ShapeOf(G& g, const Output& x) { return g.Call("Shape", {x}); }

absl::Status Conv3D(G& g) {
  const auto attrs = ConvAttrs(g);
  const Output x = g.input(0), w = g.input(1), dy = g.dy();
  g.set_grad(0, g.Call("Conv3DBackpropInputV2", {ShapeOf(g, x), w, dy}, attrs));
  g.set_grad(1, g.Call("Conv3DBackpropFilterV2", {x, ShapeOf(g, w), dy}, attrs));
  return absl::OkStatus();
}
absl::Status Conv3DBackpropInput(G& g) {
  const auto attrs = ConvAttrs(g);
  const Output w = g.input(1), out_backprop = g.input(2), dy = g.dy();
  g.set_grad(1, g.Call("Conv3DBackpropFilterV2", {dy, ShapeOf(g, w), out_backprop}, attrs));
  g.set_grad(2, g.Call("Conv3D", {dy, w}, attrs));
  return absl::OkStatus();
}
absl::Status Conv3DBackpropFilter(G& g) {
  const auto attrs = ConvAttrs(g);
  const Output x = g.input(0), out_backprop = g.input(2), dy = g.dy();
  g.set_grad(0, g.Call("Conv3DBackpropInputV2", {ShapeOf(g, x), dy, out_backprop}, attrs));
  g.set_grad(2, g.Call("Conv3D", {x, dy}, attrs));
  return absl::OkStatus();
}

absl::Status AvgPool3D(G& g) {
  g.set_grad(0, g.Call("AvgPool3DGrad", {ShapeOf(g, g.input(0)), g.dy()}, PoolAttrs(g)));
  return absl::OkStatus();
}
absl::Status AvgPool3DGrad(G& g) {
  g.set_grad(1, g.Call("AvgPool3D", {g.dy()}, PoolAttrs(g)));
  return absl::OkStatus();
}

// Maxima: the gradient goes to where each stood, and the gradient's gradient comes from there.
template <const char* kGrad>
absl::Status MaxPool(G& g) {
  g.set_grad(0, g.Call(kGrad, {g.input(0), g.output(0), g.dy()}, PoolAttrs(g)));
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

// Rounding is taken for the identity within the range.
absl::Status StraightThrough(G& g) {
  g.set_grad(0, g.grad(0));
  return absl::OkStatus();
}
absl::Status QuantizeAndDequantizeV4(G& g) {
  const Output dx =
      g.Call("QuantizeAndDequantizeV4Grad", {g.dy(), g.input(0), g.input(1), g.input(2)}, CopiedAttrs(g, {"axis"}));
  for (int i = 0; i < 3; ++i) g.set_grad(i, Output(dx.op(), i));
  return absl::OkStatus();
}

// The mean of the gradient over each run of equal values; runs of a row are numbered from zero.
absl::Status IsotonicRegression(G& g) {
  const Output x = g.input(0), runs = g.output(1), dy = g.dy();
  const Output shape = ShapeOf(g, x);
  const Output width =
      g.Call("StridedSlice",
             {shape, Tensor::Vector<int32_t>({-1}), Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({1})},
             {G::Set("end_mask", int64_t{1}), G::Set("shrink_axis_mask", int64_t{1})});
  const Output size = g.Call("Size", {x});
  const Output place = g.Call("Range", {0, size, 1}, {G::Set("Tidx", DT_INT32)});
  const Output row_start = g.Call("Sub", {place, g.Call("FloorMod", {place, width})});
  const Output flat = g.Call("Reshape", {runs, Tensor::Vector<int32_t>({-1})});
  const Output ids = g.Call("AddV2", {flat, row_start});
  const Output flat_dy = g.Call("Reshape", {dy, Tensor::Vector<int32_t>({-1})});
  const Output sums = g.Call("UnsortedSegmentSum", {flat_dy, ids, size});
  const Output counts = g.Call("UnsortedSegmentSum", {g.Call("OnesLike", {flat_dy}), ids, size});
  const Output means = g.Call("RealDiv", {g.Call("Gather", {sums, ids}), g.Call("Gather", {counts, ids})});
  g.set_grad(0, g.Call("Cast", {g.Call("Reshape", {means, shape})}, {G::Set("DstT", x.type())}));
  return absl::OkStatus();
}

// The loss's gradient is its second output, one example a column.
absl::Status CtcLoss(G& g) {
  const Output scale =
      g.Call("ExpandDims", {g.Call("ExpandDims", {g.dy(0), Tensor::Scalar<int32_t>(0)}), Tensor::Scalar<int32_t>(-1)});
  g.set_grad(0, g.Call("Mul", {scale, g.output(1)}));
  return absl::OkStatus();
}

// The op has a gradient op of its own.
absl::Status GlobalNormalization(G& g) {
  const Output dx =
      g.Call("BatchNormWithGlobalNormalizationGrad", {g.input(0), g.input(1), g.input(2), g.input(4), g.dy()},
             CopiedAttrs(g, {"variance_epsilon", "scale_after_normalization"}));
  for (int i = 0; i < 5; ++i) g.set_grad(i, Output(dx.op(), i));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterVolumeGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Conv3D", Conv3D},
      {"Conv3DBackpropInputV2", Conv3DBackpropInput},
      {"Conv3DBackpropFilterV2", Conv3DBackpropFilter},
      {"AvgPool3D", AvgPool3D},
      {"AvgPool3DGrad", AvgPool3DGrad},
      {"MaxPool3D", MaxPool<kMax3DGrad>},
      {"MaxPool3DGrad", MaxPoolGrad<kMax3DGradGrad>},
      {"MaxPool3DGradGrad", MaxPoolGradGrad<kMax3DGrad>},
      {"MaxPoolGrad", MaxPoolGrad<kMaxGradGrad>},
      {"MaxPoolGradV2", MaxPoolGradV2},
      {"MaxPoolGradGrad", MaxPoolGradGrad<kMaxGrad>},
      {"MaxPoolWithArgmax", MaxPoolWithArgmax},
      {"BatchNormWithGlobalNormalization", GlobalNormalization},
      {"QuantizeAndDequantize", StraightThrough},
      {"QuantizeAndDequantizeV2", StraightThrough},
      {"QuantizeAndDequantizeV3", StraightThrough},
      {"QuantizeAndDequantizeV4", QuantizeAndDequantizeV4},
      {"IsotonicRegression", IsotonicRegression},
      {"GuaranteeConst", StraightThrough},
      {"CTCLoss", CtcLoss},
      {"CTCLossV2", CtcLoss},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
