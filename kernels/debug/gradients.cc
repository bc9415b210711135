#include "graph/gradients/gradient_context.h"
#include "kernels/debug/family.h"

namespace weir {
namespace {

using G = GradientContext;

absl::Status PassGradient(G& g) {
  g.set_grad(0, g.grad(0));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterDebugGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"CheckNumericsV2", PassGradient},          {"DebugGradientIdentity", PassGradient},
      {"DebugGradientRefIdentity", PassGradient}, {"DebugIdentityV2", PassGradient},
      {"GuaranteeConst", PassGradient},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
