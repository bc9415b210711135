// A graph of one device, rewritten to run on the devices of meshes.
#pragma once

#include <memory>

#include "core/status.h"
#include "graph/graph.h"
#include "graph/passes/pass.h"

namespace weir {

// What MakeSpmdPass does, into a new graph; nullptr where no node names a mesh. See graph/passes/pass_manager.h.
absl::StatusOr<std::unique_ptr<Graph>> PartitionSpmd(const PassContext& context, const Graph& graph);

}  // namespace weir
