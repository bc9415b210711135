// Watching tensors: nodes that publish what others compute.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/status.h"
#include "graph/graph.h"
#include "tensorflow/core/protobuf/debug.pb.h"

namespace weir {

// Adds to `graph`, all of which is on `device`, what the watches ask for: beside each watched output x:0 a node
// "__copy_x_0" and, for each of its debug ops, a node "__dbg_x:0_0_DebugIdentity" that publishes the copy before the
// nodes that use the output run. A node name of "*" stands for every node, an output slot of -1 for every output; nodes
// that are not in the graph are passed over. FailedPrecondition, naming the node, for a debug op that does not exist,
// has no such attribute, or for which `has_kernel` says no, unless the watch tolerates that.
absl::Status AddDebugNodes(const tensorflow::DebugOptions& options, const std::string& device,
                           const std::function<absl::Status(const tensorflow::NodeDef&)>& has_kernel, Graph* graph);

// Where the watches want things published, each once.
std::vector<std::string> WatchUrls(const tensorflow::DebugOptions& options);

}  // namespace weir
