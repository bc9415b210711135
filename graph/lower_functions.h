// Calls of functions, and control flow by functions, written out as nodes.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "graph/graph.h"

namespace weir {

struct LowerOptions {
  // No further nodes are replaced in a graph that grew by more: calls that branch out without end stay calls.
  int max_new_nodes = 200'000;
  // Full names: where a RemoteCall can go whose target only the step knows.
  std::vector<std::string> devices;
};

// Replaces, in a graph that feeds and fetches have been cut from, what calls functions:
//  - calls, PartitionedCall and SymbolicGradient by the function's body (SymbolicGradient: by its gradient);
//  - RemoteCall, where its target is a constant, by the body on that device, else by a Case over the devices;
//  - If and Case (and the stateless ones) by Switch and Merge, While by a loop of Enter, Merge, Switch, NextIteration
//    and Exit, where their attribute _lower_using_switch_merge asks for it.
// A node with the name and the outputs of what was replaced stays. What is added has no assigned device: it is to be
// placed, so that a body's nodes may spread over devices and stand beside the resources that they use. Functions that
// call themselves, directly or not, stay calls: their depth is known only when they run. Gives whether anything
// changed. InvalidArgument names the node whose function does not fit it.
absl::StatusOr<bool> LowerFunctions(const LowerOptions& options, Graph* graph);

// Whether the node's op is one of those above, or a function.
bool CallsFunctions(const Node& node);
// Replaces this one, which calls functions, as above, whatever it asks for; what its functions call stays. Gives
// whether it did, and so removed `node`.
absl::StatusOr<bool> LowerCall(Node* node, Graph* graph);

}  // namespace weir
