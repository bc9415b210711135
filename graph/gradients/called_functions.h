// Calls of functions on the way of a gradient.
#pragma once

#include "core/status.h"
#include "graph/graph.h"

namespace weir {

// Whether the gradient of `node`, which calls functions, is that of what they do: not where the library has a gradient
// for the function that it calls.
bool IsDifferentiatedByBody(const Node& node, const FunctionLibrary& library);

// Puts before `call` the nodes of what it calls, control flow as Switch, Merge and loops; `call` gives their results
// from then on. Gives whether it did; functions that call themselves stay calls, and the graph as it was.
absl::StatusOr<bool> WriteOutCall(Node* call, Graph* graph);

}  // namespace weir
