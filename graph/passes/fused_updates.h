// Optimizers' steps on many variables of a GPU as one node.
#pragma once

#include <memory>

#include "graph/passes/pass.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {

// The name among RewriterConfig's custom_optimizers by which a session asks for it; it has no parameters.
inline constexpr char kFusedUpdatesOptimizer[] = "FusedUpdates";

// INVALID_ARGUMENT for parameters.
absl::StatusOr<bool> AsksForFusedUpdates(const tensorflow::GraphOptions& options);

// For a whole graph that is placed, before it is divided: dense steps of one rule (ResourceApplyAdam and the like) on
// one GPU, of one type, with the same scalars and attributes, of which none comes after another, get one name in an
// attribute. Only who sees all of the graph knows what comes after what: a path may lead through other devices. Nodes
// behind control flow stay alone, for they may not run, and so do those before an op on a queue, a collective and the
// like, which other updates may wait for without a path.
std::unique_ptr<Pass> MakeUpdateGroupsPass();

// For a part of that graph: those of one name become one node, _FusedResourceApply, which waits for what any of them
// waits for.
std::unique_ptr<Pass> MakeFusedUpdatesPass();

}  // namespace weir
