// Optimizer state split over replicas instead of copied (Rajbhandari et al. 2020, ZeRO).
#pragma once

#include <string>
#include <vector>

#include "client/strategy/mesh_program.h"
#include "core/api.h"

namespace WEIR_API weir {

// Splits the trainable variables of `scope`, and with them their optimizer slots, over `axis`, the one that splits the
// batch.
// - Gradients are reduce-scattered, each replica updates its slice, and the next step gathers the parameters before
//   using them. Between steps a replica holds only its slice (ZeRO's stages 1 and 3 combined).
// - Existing layouts stay: a variable that is split over another axis is split over both if a dimension is left.
// - Returns the names of variables that stay whole, because no remaining dimension divides evenly.
absl::StatusOr<std::vector<std::string>> SplitOptimizerState(const Scope& scope, const Mesh& mesh,
                                                             const std::string& axis);

}  // namespace weir
