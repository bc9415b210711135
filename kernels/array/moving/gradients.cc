// Gradients of ops that move elements: each moves them back.
#include "graph/gradients/gradient_context.h"
#include "kernels/array/family.h"

namespace weir {
namespace {

using G = GradientContext;

absl::Status Transpose(G& g) {
  g.set_grad(0, g.Call("Transpose", {g.dy(), g.Call("InvertPermutation", {g.input(1)})}));
  return absl::OkStatus();
}

// [d0 * m0, d1 * m1, …] seen as [m0, d0, m1, d1, …] and summed over the m's.
absl::Status Tile(G& g) {
  const Output shape = g.Call("Shape", {g.input(0)}, {G::Set("out_type", g.input(1).type())});
  const Output pairs = g.CallWithLists("Pack", {{g.input(1), shape}}, {G::Set("axis", int64_t{1})});
  const Output split = g.Call("Reshape", {pairs, Tensor::Vector<int32_t>({-1})});
  const Output axes = g.Call("Range", {0, g.Call("Size", {split}), 2}, {G::Set("Tidx", DT_INT32)});
  const Output summed = g.Call("Sum", {g.Call("Reshape", {g.dy(), split}), axes});
  g.set_grad(0, g.Call("Reshape", {summed, shape}));
  return absl::OkStatus();
}

absl::Status Pad(G& g) {
  const Output before = g.Call(
      "StridedSlice",
      {g.input(1), Tensor::Vector<int32_t>({0, 0}), Tensor::Vector<int32_t>({0, 1}), Tensor::Vector<int32_t>({1, 1})},
      {G::Set("begin_mask", int64_t{3}), G::Set("end_mask", int64_t{1}), G::Set("shrink_axis_mask", int64_t{2})});
  const Output shape = g.Call("Shape", {g.input(0)}, {G::Set("out_type", g.input(1).type())});
  g.set_grad(0, g.Call("Slice", {g.dy(), before, shape}));
  if (g.num_inputs() == 3) {
    const Output dy = g.dy();
    const Output all = g.Call("Range", {0, g.Call("Rank", {dy}), 1}, {G::Set("Tidx", DT_INT32)});
    const Output inside = g.Call("Slice", {dy, before, shape});
    g.set_grad(2, g.Call("Sub", {g.Call("Sum", {dy, all}), g.Call("Sum", {inside, all})}));
  }
  return absl::OkStatus();
}

absl::Status ReverseV2(G& g) {
  g.set_grad(0, g.Call("ReverseV2", {g.dy(), g.input(1)}));
  return absl::OkStatus();
}

absl::Status Reverse(G& g) {
  g.set_grad(0, g.Call("Reverse", {g.dy(), g.input(1)}));
  return absl::OkStatus();
}

absl::Status ReverseSequence(G& g) {
  g.set_grad(
      0, g.Call("ReverseSequence", {g.dy(), g.input(1)},
                {G::Set("seq_dim", g.Attr<int64_t>("seq_dim")), G::Set("batch_dim", g.Attr<int64_t>("batch_dim"))}));
  return absl::OkStatus();
}

absl::Status Roll(G& g) {
  g.set_grad(0, g.Call("Roll", {g.dy(), g.Call("Neg", {g.input(1)}), g.input(2)}));
  return absl::OkStatus();
}

absl::Status MirrorPad(G& g) {
  g.set_grad(0, g.Call("MirrorPadGrad", {g.dy(), g.input(1)}, {G::Set("mode", g.Attr<std::string>("mode"))}));
  return absl::OkStatus();
}
absl::Status MirrorPadGrad(G& g) {
  g.set_grad(0, g.Call("MirrorPad", {g.dy(), g.input(1)}, {G::Set("mode", g.Attr<std::string>("mode"))}));
  return absl::OkStatus();
}

absl::Status ConjugateTranspose(G& g) {
  g.set_grad(0, g.Call("ConjugateTranspose", {g.dy(), g.Call("InvertPermutation", {g.input(1)})}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterMovingGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Transpose", Transpose},
      {"ConjugateTranspose", ConjugateTranspose},
      {"Tile", Tile},
      {"Pad", Pad},
      {"PadV2", Pad},
      {"MirrorPad", MirrorPad},
      {"MirrorPadGrad", MirrorPadGrad},
      {"Reverse", Reverse},
      {"ReverseV2", ReverseV2},
      {"ReverseSequence", ReverseSequence},
      {"Roll", Roll},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
