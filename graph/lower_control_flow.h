// Control flow by functions as control flow by nodes; see graph/lower_functions.h.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "graph/graph.h"

namespace weir {

// Each adds calls of the branches, the condition and the body; those are still to be written out. On failure the graph
// is as it was.
absl::Status LowerIf(Node* node, Graph* graph);
absl::Status LowerCase(Node* node, Graph* graph);
absl::Status LowerWhile(Node* node, Graph* graph);
// A RemoteCall whose target only the step knows: a branch for each of `devices`.
absl::Status LowerRemoteCall(Node* node, const std::vector<std::string>& devices, Graph* graph);

}  // namespace weir
