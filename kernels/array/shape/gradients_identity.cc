// Gradients of ops that pass a value on.
#include "graph/gradients/gradient_context.h"
#include "kernels/array/family.h"

namespace weir {
namespace {

using G = GradientContext;

absl::Status PassGradientOn(G& g) {
  g.set_grad(0, g.grad(0));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterIdentityGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"Identity", PassGradientOn},    {"Snapshot", PassGradientOn},
      {"RefIdentity", PassGradientOn}, {"PlaceholderWithDefault", PassGradientOn},
      {"EnsureShape", PassGradientOn}, {"DeepCopy", PassGradientOn},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
