// Finds groups of nodes to fuse.
#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"

namespace weir {

struct FusionRules {
  // Whether a node is a step, or a reduction that can end a group.
  std::function<bool(const Node&)> is_step, is_fold;
  // Whether an input of a step must come from outside of the group.
  std::function<bool(const Edge&)> stays_outside;
};

// Groups that can each become one node, inputs before users; at least two nodes, all on one device. Their outputs are
// read within the group, and a few also outside; a reduction is last. Fusing preserves results and ordering: no path
// leaves a group and comes back, all nodes that are read outside are dead together or not at all, and they wait for the
// same receives, calls and stateful nodes.
std::vector<std::vector<Node*>> FindFusionGroups(const Graph& graph, const FusionRules& rules);

}  // namespace weir
