// Debug watches: nodes that publish watched tensors.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/status.h"
#include "graph/graph.h"
#include "tensorflow/core/protobuf/debug.pb.h"

namespace weir {

// Adds nodes for the watches to `graph`, all of which is on `device`: beside each watched output x:0 a node
// "__copy_x_0" and, for each of its debug ops, a node "__dbg_x:0_0_DebugIdentity" that publishes the copy before the
// consumers of the output run.
// - A node name of "*" matches every node, an output slot of -1 every output; nodes that are not in the graph are
//   skipped.
// - FailedPrecondition, naming the node, for a debug op that does not exist, lacks an attribute, or has no kernel
//   (`has_kernel`), unless the watch tolerates failures.
absl::Status AddDebugNodes(const tensorflow::DebugOptions& options, const std::string& device,
                           const std::function<absl::Status(const tensorflow::NodeDef&)>& has_kernel, Graph* graph);

// The URLs that the watches publish to, each once.
std::vector<std::string> WatchUrls(const tensorflow::DebugOptions& options);

}  // namespace weir
