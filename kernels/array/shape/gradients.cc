// Gradients of ops that change a shape or repeat one value.
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

absl::Status Fill(G& g) {
  const Output dy = g.dy();
  const Output all = g.Call("Range", {0, g.Call("Rank", {dy}), 1}, {G::Set("Tidx", DT_INT32)});
  g.set_grad(1, g.Call("Sum", {dy, all}));
  return absl::OkStatus();
}

absl::Status IdentityN(G& g) {
  for (int i = 0; i < g.num_inputs(); ++i) g.set_grad(i, g.grad(i));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterShapeGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Reshape", ReshapeBack}, {"ExpandDims", ReshapeBack}, {"Squeeze", ReshapeBack},
      {"Fill", Fill},           {"IdentityN", IdentityN},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
