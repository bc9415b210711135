// Gradients of slices: zeros around the gradient of what was taken.
#include "graph/gradients/gradient_context.h"
#include "kernels/array/family.h"

namespace weir {
namespace {

using G = GradientContext;

// The gradient, padded with zeros before `begin` and after the slice.
absl::Status Slice(G& g) {
  const Output shape = g.Call("Shape", {g.input(0)}, {G::Set("out_type", g.input(1).type())});
  const Output dy_shape = g.Call("Shape", {g.dy()}, {G::Set("out_type", g.input(1).type())});
  const Output behind = g.Call("Sub", {g.Call("Sub", {shape, dy_shape}), g.input(1)});
  const Output paddings = g.CallWithLists("Pack", {{g.input(1), behind}}, {G::Set("axis", int64_t{1})});
  g.set_grad(0, g.Call("Pad", {g.dy(), paddings}));
  return absl::OkStatus();
}

std::vector<G::AttrSetter> Masks(G& g) {
  std::vector<G::AttrSetter> masks;
  for (const char* mask : {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"}) {
    masks.push_back(G::Set(mask, g.Attr<int64_t>(mask)));
  }
  return masks;
}
absl::Status StridedSlice(G& g) {
  const Output shape = g.Call("Shape", {g.input(0)}, {G::Set("out_type", g.input(1).type())});
  g.set_grad(0, g.Call("StridedSliceGrad", {shape, g.input(1), g.input(2), g.input(3), g.dy()}, Masks(g)));
  return absl::OkStatus();
}
// Overwritten elements have no gradient; the value gets the slice's, summed along the dimensions it was broadcast to.
absl::Status TensorStridedSliceUpdate(G& g) {
  const Output slice = g.Call("StridedSlice", {g.dy(), g.input(1), g.input(2), g.input(3)}, Masks(g));
  const Output zeros = g.Call("ZerosLike", {slice});
  g.set_grad(0, g.Call("TensorStridedSliceUpdate", {g.dy(), g.input(1), g.input(2), g.input(3), zeros}, Masks(g)));
  const Output shape = g.Call("Shape", {g.input(4)});
  const Output axes = g.Call("BroadcastGradientArgs", {shape, g.Call("Shape", {slice})});
  g.set_grad(4, g.Call("Reshape", {g.Call("Sum", {slice, axes}), shape}));
  return absl::OkStatus();
}

absl::Status StridedSliceGrad(G& g) {
  g.set_grad(4, g.Call("StridedSlice", {g.dy(), g.input(1), g.input(2), g.input(3)}, Masks(g)));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterSlicingGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Slice", Slice},
      {"StridedSlice", StridedSlice},
      {"StridedSliceGrad", StridedSliceGrad},
      {"TensorStridedSliceUpdate", TensorStridedSliceUpdate},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
