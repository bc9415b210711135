// Rewrites a single-device graph to run on meshes.
#pragma once

#include <memory>

#include "core/status.h"
#include "graph/graph.h"
#include "graph/passes/pass.h"

namespace weir {

// Implements MakeSpmdPass, into a new graph; nullptr if no node names a mesh. See graph/passes/pass_manager.h.
absl::StatusOr<std::unique_ptr<Graph>> PartitionSpmd(const PassContext& context, const Graph& graph);

}  // namespace weir
