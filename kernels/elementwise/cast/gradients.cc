// The gradient of Cast.
#include "graph/gradients/gradient_context.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

using G = GradientContext;

absl::Status CastBack(G& g) {
  const DataType from = g.Attr<DataType>("SrcT");
  if (!IsFloating(from) && !IsComplex(from)) return absl::OkStatus();
  g.set_grad(0, g.Call("Cast", {g.dy()}, {G::Set("DstT", from)}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterCastGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Cast", CastBack},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
