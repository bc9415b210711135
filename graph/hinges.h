// Which nodes of a graph run, or are dead, together.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "graph/graph.h"

namespace weir {

// What a node hinges on: outputs of Switch nodes, nodes at which a value enters or leaves a branch or loop, and those
// that wait for others. It cannot run before all of these have come, and it is dead when one of them is. Nodes that
// hinge on the same run or are dead together, and none of them holds up another whose results somebody waits for.
using Hinges = std::set<std::pair<int, int>>;  // node, output

// Constants without inputs hinge on nothing, and nobody on them: whoever reads one has it.
class HingesOfNodes {
 public:
  // `waits` says whether a node may wait for what happens elsewhere.
  HingesOfNodes(const Graph& graph, absl::FunctionRef<bool(const Node&)> waits);

  // The same object for nodes that hinge on the same.
  const Hinges* of(const Node& node) const { return of_[node.id()]; }

 private:
  std::set<Hinges> kinds_;  // each once
  std::vector<const Hinges*> of_;
};

// Sources first; what an iteration hands to the next one is left out.
std::vector<Node*> ForwardOrder(const Graph& graph);
bool IsFreeConstant(const Node& node);

}  // namespace weir
