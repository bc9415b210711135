#include "graph/passes/custom_optimizers.h"

namespace weir {

absl::StatusOr<bool> AsksForCustomOptimizer(const tensorflow::RewriterConfig& rewrite, absl::string_view name) {
  for (const auto& optimizer : rewrite.custom_optimizers()) {
    if (optimizer.name() != name) continue;
    if (optimizer.parameter_map().empty()) return true;
    return errors::InvalidArgument("custom_optimizers: ", name, " has no parameters, not even ",
                                   optimizer.parameter_map().begin()->first);
  }
  return false;
}

}  // namespace weir
