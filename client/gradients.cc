#include "client/gradients.h"

namespace weir {

std::vector<Gradient> Gradients(const Scope& scope, const std::vector<Output>& ys, const std::vector<Output>& xs,
                                GradientOptions options) {
  if (!scope.ok()) return {};
  options.name_scope = scope.UniqueName(options.name_scope);
  auto gradients = AddGradients(ys, xs, options, scope.graph());
  if (!gradients.ok()) {
    scope.UpdateStatus(gradients.status());
    return {};
  }
  return *std::move(gradients);
}

}  // namespace weir
