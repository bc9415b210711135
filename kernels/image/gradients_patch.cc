// Gradients of patches of images and volumes, and of projections of images.

#include "graph/gradients/copied_attrs.h"
#include "graph/gradients/gradient_context.h"
#include "graph/graph.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

using G = GradientContext;

// Elements [first, last) of a vector; `last` zero: to its end.
Output Part(G& g, const Output& vector, int32_t first, int32_t last) {
  return g.Call(
      "StridedSlice",
      {vector, Tensor::Vector<int32_t>({first}), Tensor::Vector<int32_t>({last}), Tensor::Vector<int32_t>({1})},
      {G::Set("end_mask", int64_t{last == 0 ? 1 : 0})});
}
Output Joined(G& g, const InputList& parts) {
  return g.CallWithLists("ConcatV2", {parts, {Tensor::Scalar<int32_t>(0)}});
}
Output Product(G& g, const Output& numbers) { return g.Call("Prod", {numbers, Tensor::Vector<int32_t>({0})}); }
Input One() { return Tensor::Vector<int32_t>({1}); }

// Where each element of a patch comes from is asked of the op itself, with a picture of the numbers 1, 2, …; zero is
// the padding. What arrives at a place is then a sum by segment.
template <int kDims>
absl::Status Patches(G& g) {
  const bool image = kDims == 2;
  const auto attrs = image ? CopiedAttrs(g, {"ksizes", "strides", "rates", "padding"})
                           : CopiedAttrs(g, {"ksizes", "strides", "padding"});
  const Output shape = g.Call("Shape", {g.input(0)}), dy = g.dy();
  const Output batch = Part(g, shape, 0, 1), space = Part(g, shape, 1, kDims + 1), depth = Part(g, shape, -1, 0);
  const Output places = Product(g, space);
  const Output numbers = g.Call(
      "Range", {Tensor::Scalar<int64_t>(1), g.Call("Cast", {g.Call("AddV2", {places, 1})}, {G::Set("DstT", DT_INT64)}),
                Tensor::Scalar<int64_t>(1)});
  const Output picture = g.Call("Reshape", {numbers, Joined(g, {One(), space, One()})});
  const Output origins = g.Call(g.op().op(), {picture}, attrs);
  const Output ids =
      g.Call("Sub", {g.Call("Reshape", {origins, Tensor::Vector<int32_t>({-1})}), Tensor::Scalar<int64_t>(1)});
  // [batch, patches, elements of a patch, depth], with batch and depth last.
  const Output elements = g.Call("Size", {ids});
  const Output patches = Product(g, Part(g, g.Call("Shape", {origins}), 1, kDims + 1));
  const Output width = Part(g, g.Call("Shape", {origins}), -1, 0);
  const Output apart = g.Call("Reshape", {dy, Joined(g, {batch, g.Call("ExpandDims", {patches, 0}), width, depth})});
  const Output turned = g.Call("Transpose", {apart, Tensor::Vector<int32_t>({1, 2, 0, 3})});
  const Output columns = g.Call("Mul", {batch, depth});
  const Output flat = g.Call("Reshape", {turned, Joined(g, {g.Call("ExpandDims", {elements, 0}), columns})});
  const Output sums = g.Call("UnsortedSegmentSum", {flat, ids, places});
  const Output back =
      g.Call("Transpose", {g.Call("Reshape", {sums, Joined(g, {g.Call("ExpandDims", {places, 0}), batch, depth})}),
                           Tensor::Vector<int32_t>({1, 0, 2})});
  g.set_grad(0, g.Call("Reshape", {back, shape}));
  return absl::OkStatus();
}

// Eight numbers of each projection as three rows, the last of which ends in one; and back.
Output InverseProjections(G& g, const Output& projections) {
  const auto columns = [&g](const Output& x, int32_t first, int32_t last) {
    return g.Call(
        "StridedSlice",
        {x, Tensor::Vector<int32_t>({0, first}), Tensor::Vector<int32_t>({0, last}), Tensor::Vector<int32_t>({1, 1})},
        {G::Set("begin_mask", int64_t{1}), G::Set("end_mask", int64_t{1})});
  };
  const Output one = g.Call("OnesLike", {columns(projections, 0, 1)});
  const Output numbers = g.CallWithLists("ConcatV2", {{projections, one}, {Tensor::Scalar<int32_t>(1)}});
  const Output matrices = g.Call("Reshape", {numbers, Tensor::Vector<int32_t>({-1, 3, 3})});
  const Output inverse = g.Call("Reshape", {g.Call("MatrixInverse", {matrices}), Tensor::Vector<int32_t>({-1, 9})});
  return columns(g.Call("RealDiv", {inverse, columns(inverse, 8, 9)}), 0, 8);
}
// TensorFlow's: the gradient is an image that is projected back. It is the adjoint of moves by whole pixels alone.
template <bool kFills>
absl::Status ImageProjectiveTransform(G& g) {
  if (!IsFloating(g.input(0).type())) return absl::OkStatus();
  const Output size = Part(g, g.Call("Shape", {g.input(0)}), 1, 3);
  std::vector<Input> inputs = {g.dy(), InverseProjections(g, g.input(1)), size};
  if (kFills) inputs.push_back(Tensor::Scalar<float>(0));
  g.set_grad(0, g.Call(g.op().op(), inputs, CopiedAttrs(g, {"interpolation", "fill_mode"})));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterPatchGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"ExtractImagePatches", Patches<2>},
      {"ExtractVolumePatches", Patches<3>},
      {"ImageProjectiveTransformV2", ImageProjectiveTransform<false>},
      {"ImageProjectiveTransformV3", ImageProjectiveTransform<true>},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
