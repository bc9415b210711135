// Gradients of joining and splitting: each is the inverse op.
#include "graph/gradients/gradient_context.h"
#include "graph/graph.h"
#include "kernels/array/family.h"

namespace weir {
namespace {

using G = GradientContext;

Output ShapeOfPart(G& g, const Output& x) { return g.Call("Shape", {x}); }

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
  for (int i = 0; i < n; ++i) shapes.push_back(ShapeOfPart(g, g.input(first + i)));
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

}  // namespace

absl::Status RegisterJoiningGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Pack", Pack},         {"Unpack", Unpack}, {"Concat", Concat},
      {"ConcatV2", ConcatV2}, {"Split", Split},   {"SplitV", SplitV},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
