// Gradients of ops that move elements about: each moves them back.

#include "graph/gradients/gradient_context.h"
#include "kernels/array/family.h"

namespace weir {
namespace {

using G = GradientContext;

Output ShapeOf(G& g, const Output& x) { return g.Call("Shape", {x}); }

absl::Status ReshapeBack(G& g) {
  g.set_grad(0, g.Call("Reshape", {g.dy(), ShapeOf(g, g.input(0))}));
  return absl::OkStatus();
}

absl::Status Transpose(G& g) {
  g.set_grad(0, g.Call("Transpose", {g.dy(), g.Call("InvertPermutation", {g.input(1)})}));
  return absl::OkStatus();
}

absl::Status Fill(G& g) {
  const Output dy = g.dy();
  const Output all = g.Call("Range", {0, g.Call("Rank", {dy}), 1}, {G::Set("Tidx", DT_INT32)});
  g.set_grad(1, g.Call("Sum", {dy, all}));
  return absl::OkStatus();
}

absl::Status Pack(G& g) {
  const Output parts =
      g.Call("Unpack", {g.dy()}, {G::Set("num", int64_t{g.num_inputs()}), G::Set("axis", g.Attr<int64_t>("axis"))});
  for (int i = 0; i < g.num_inputs(); ++i) g.set_grad(i, Output(parts.op(), i));
  return absl::OkStatus();
}

InputList AllDys(G& g) {
  InputList dys;
  for (int i = 0; i < g.op().num_outputs(); ++i) dys.push_back(g.dy(i));
  return dys;
}

absl::Status Unpack(G& g) {
  g.set_grad(0, g.CallWithLists("Pack", {AllDys(g)}, {G::Set("axis", g.Attr<int64_t>("axis"))}));
  return absl::OkStatus();
}

// Inputs [first, first + n) were joined along `axis`.
absl::Status SplitBack(G& g, int first, int n, const Output& axis) {
  if (n == 1) {
    g.set_grad(first, g.dy());
    return absl::OkStatus();
  }
  InputList shapes;
  for (int i = 0; i < n; ++i) shapes.push_back(ShapeOf(g, g.input(first + i)));
  const Output rank = g.Call("Rank", {g.input(first)});
  const Output positive =
      g.Call("FloorMod", {g.Call("AddV2", {g.Call("Cast", {axis}, {G::Set("DstT", DT_INT32)}), rank}), rank});
  const Output offsets = g.CallWithLists("ConcatOffset", {{positive}, shapes});
  for (int i = 0; i < n; ++i) {
    g.set_grad(first + i, g.Call("Slice", {g.dy(), Output(offsets.op(), i), shapes[i]}));
  }
  return absl::OkStatus();
}
absl::Status Concat(G& g) { return SplitBack(g, 1, g.num_inputs() - 1, g.input(0)); }
absl::Status ConcatV2(G& g) { return SplitBack(g, 0, g.num_inputs() - 1, g.input(g.num_inputs() - 1)); }

absl::Status Split(G& g) {
  g.set_grad(1, g.CallWithLists("ConcatV2", {AllDys(g), {g.input(0)}}));
  return absl::OkStatus();
}
absl::Status SplitV(G& g) {
  g.set_grad(0, g.CallWithLists("ConcatV2", {AllDys(g), {g.input(2)}}));
  return absl::OkStatus();
}

// Zeros around the gradient: before `begin`, and what remains behind.
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
// What was overwritten has no gradient; the value has that of the slice, summed where the value was repeated.
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

absl::Status IdentityN(G& g) {
  for (int i = 0; i < g.num_inputs(); ++i) g.set_grad(i, g.grad(i));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterArrayGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Reshape", ReshapeBack},
      {"ExpandDims", ReshapeBack},
      {"Squeeze", ReshapeBack},
      {"Transpose", Transpose},
      {"ConjugateTranspose", ConjugateTranspose},
      {"Fill", Fill},
      {"Pack", Pack},
      {"Unpack", Unpack},
      {"Concat", Concat},
      {"ConcatV2", ConcatV2},
      {"Split", Split},
      {"SplitV", SplitV},
      {"Slice", Slice},
      {"StridedSlice", StridedSlice},
      {"StridedSliceGrad", StridedSliceGrad},
      {"TensorStridedSliceUpdate", TensorStridedSliceUpdate},
      {"Tile", Tile},
      {"Pad", Pad},
      {"PadV2", Pad},
      {"MirrorPad", MirrorPad},
      {"MirrorPadGrad", MirrorPadGrad},
      {"Reverse", Reverse},
      {"ReverseV2", ReverseV2},
      {"ReverseSequence", ReverseSequence},
      {"Roll", Roll},
      {"IdentityN", IdentityN},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
