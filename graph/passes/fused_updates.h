// Fuses optimizer updates of many variables on a GPU into one node.
#pragma once

#include <memory>

#include "graph/passes/pass.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {

// The name in RewriterConfig's custom_optimizers that enables it; it has no parameters.
inline constexpr char kFusedUpdatesOptimizer[] = "FusedUpdates";

// INVALID_ARGUMENT if it has parameters.
absl::StatusOr<bool> AsksForFusedUpdates(const tensorflow::GraphOptions& options);

// For a whole graph, placed but not yet partitioned: gives a common name, in an attribute, to dense updates of one rule
// (ResourceApplyAdam and the like) on one GPU, of one type, with the same scalars and attributes, that do not depend on
// each other. This needs the whole graph, because a path may lead through other devices. Excludes nodes after control
// flow, which may not run, and nodes before a queue op, a collective and the like, which other updates may wait for
// without a path.
std::unique_ptr<Pass> MakeUpdateGroupsPass();

// For a partition of that graph: fuses updates of the same name into one node, _FusedResourceApply, which waits for the
// inputs of all of them.
std::unique_ptr<Pass> MakeFusedUpdatesPass();

}  // namespace weir
