// Which nodes of a graph become one.
#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"

namespace weir {

struct FusionRules {
  // Whether a node is a step, or can be the reduction at the end.
  std::function<bool(const Node&)> is_step, is_fold;
  // Whether an input of a step must come from outside.
  std::function<bool(const Edge&)> stays_outside;
};

// Nodes that can be one node of the graph, inputs before users; at least two, all on one device. What they make is read
// by each other, or, of a few of them, elsewhere too; a reduction is the last. A group keeps what the graph computes
// and when: no path leaves it and comes back, all nodes that are read elsewhere are dead together or none is, and they
// wait for the same receives, calls and stateful nodes.
std::vector<std::vector<Node*>> FindFusionGroups(const Graph& graph, const FusionRules& rules);

}  // namespace weir
