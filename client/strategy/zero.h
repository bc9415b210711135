// Optimizer state that is split over replicas instead of copied (Rajbhandari et al. 2020, ZeRO).
#pragma once

#include <string>
#include <vector>

#include "client/strategy/mesh_program.h"

namespace weir {

// Splits the trainable variables of `scope`, and with them the slots that an optimizer has for them, over `axis`, the
// one that splits the batch: gradients are reduce-scattered, each replica updates its slice, and the step that follows
// gathers the parameters before it uses them. Between steps no replica holds more than its slice (ZeRO's stages 1 and
// 3 in one). Layouts that were set stay: a variable that is split over another axis is split over both where a
// dimension is left. Gives the names of the variables that stay whole, because no dimension is left that divides.
absl::StatusOr<std::vector<std::string>> SplitOptimizerState(const Scope& scope, const Mesh& mesh,
                                                             const std::string& axis);

}  // namespace weir
