// Inlines function calls and lowers functional control flow to nodes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/status.h"
#include "graph/graph.h"

namespace weir {

struct LowerOptions {
  // Stop when the graph has grown by this many nodes: calls that expand without end stay calls.
  int max_new_nodes = 200'000;
  // Full names: possible targets of a RemoteCall whose target is known only at run time.
  std::vector<std::string> devices;
  // Asked before each node; an error ends the lowering. Empty: nothing does.
  std::function<absl::Status()> check;
};

// Lowers function calls, in a graph that has been cut to its feeds and fetches:
// - calls, PartitionedCall and SymbolicGradient become the function's body (SymbolicGradient: its gradient);
// - RemoteCall becomes the body on the target device if that is a constant, otherwise a Case over the devices;
// - If and Case (and the stateless ones) become Switch and Merge, and While a loop of Enter, Merge, Switch,
//   NextIteration and Exit, if their attribute _lower_using_switch_merge requests it.
// A node with the name and outputs of the replaced one stays. New nodes are not assigned to devices: placement may
// spread a body over devices, close to the resources that it uses. Recursive functions stay calls, because their depth
// is known only at run time. Returns whether anything changed. InvalidArgument names a node whose function does not
// match it.
absl::StatusOr<bool> LowerFunctions(const LowerOptions& options, Graph* graph);

// Whether the node's op is one of those above, or a function.
bool CallsFunctions(const Node& node);
// Lowers this node, which calls functions, regardless of its attributes; calls inside of its functions stay. Returns
// whether it did, and so removed `node`.
absl::StatusOr<bool> LowerCall(Node* node, Graph* graph);

}  // namespace weir
