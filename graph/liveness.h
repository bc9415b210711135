// Groups nodes of a graph that run, or are dead, together.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "graph/graph.h"

namespace weir {

// The conditions that decide whether and when a node runs: outputs of Switch nodes, nodes at which a value enters or
// leaves a branch or loop, and nodes that may wait. A node cannot run before all of them have arrived, and is dead if
// one of them is. Nodes with equal conditions run or are dead together, and none of them delays another's consumers.
using LivenessConditions = std::set<std::pair<int, int>>;  // node, output

// Constants without inputs have no conditions, and add none to their consumers.
class LivenessOfNodes {
 public:
  // `waits` returns whether a node may wait for events outside of the graph.
  LivenessOfNodes(const Graph& graph, absl::FunctionRef<bool(const Node&)> waits);

  // The same object for nodes with equal conditions; nullptr for constants without inputs.
  const LivenessConditions* of(const Node& node) const { return of_[node.id()]; }

 private:
  std::set<LivenessConditions> kinds_;  // each once
  std::vector<const LivenessConditions*> of_;
};

// Topological order, ignoring edges from NextIteration.
std::vector<Node*> ForwardOrder(const Graph& graph);
bool IsFreeConstant(const Node& node);

}  // namespace weir
