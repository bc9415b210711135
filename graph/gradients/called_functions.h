// Function calls on the path of a gradient.
#pragma once

#include "core/status.h"
#include "graph/graph.h"

namespace weir {

// Whether the gradient of `node`, which calls functions, is derived from their bodies: false if the library has a
// gradient for the called function.
bool IsDifferentiatedByBody(const Node& node, const FunctionLibrary& library);

// Inlines the functions that `call` calls, with control flow as Switch, Merge and loops; `call` then returns their
// results. Returns whether it did; recursive functions stay calls, and the graph is then unchanged.
absl::StatusOr<bool> WriteOutCall(Node* call, Graph* graph);

}  // namespace weir
