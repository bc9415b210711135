#include "graph/gradients/gradient_context.h"
#include "kernels/counting/family.h"

namespace weir {
namespace {

using G = GradientContext;

// The mean of the gradient over each run of equal values; runs of a row are numbered from zero.
absl::Status IsotonicRegression(G& g) {
  const Output x = g.input(0), runs = g.output(1), dy = g.dy();
  const Output shape = g.Call("Shape", {x});
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

}  // namespace

absl::Status RegisterIsotonicGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"IsotonicRegression", IsotonicRegression},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
