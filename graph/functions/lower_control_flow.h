// Lowers functional control flow to nodes; see graph/functions/lower_functions.h.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "graph/graph.h"

namespace weir {

// Each adds calls of the branches, or of condition and body, which are still to be inlined. On failure the graph is
// unchanged.
absl::Status LowerIf(Node* node, Graph* graph);
absl::Status LowerCase(Node* node, Graph* graph);
absl::Status LowerWhile(Node* node, Graph* graph);
// A RemoteCall whose target is known only at run time: one branch for each of `devices`.
absl::Status LowerRemoteCall(Node* node, const std::vector<std::string>& devices, Graph* graph);

}  // namespace weir
