// The gradient of the cross product.
#include "graph/gradients/gradient_context.h"
#include "kernels/counting/family.h"

namespace weir {
namespace {

using G = GradientContext;

// (b x dy, dy x a)
absl::Status Cross(G& g) {
  const Output dy = g.dy();
  g.set_grad(0, g.Call("Cross", {g.input(1), dy}));
  g.set_grad(1, g.Call("Cross", {dy, g.input(0)}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterCrossGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Cross", Cross},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
