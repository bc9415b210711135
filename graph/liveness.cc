#include "graph/liveness.h"

namespace weir {

bool IsFreeConstant(const Node& node) { return node.IsConstant() && node.in_edges().empty(); }

std::vector<Node*> ForwardOrder(const Graph& graph) {
  std::vector<int> waits(graph.num_node_ids(), 0);
  std::vector<Node*> order;
  const auto counts = [](const Edge& edge) { return !edge.src->IsNextIteration(); };
  for (Node* node : graph.nodes()) {
    for (const Edge* edge : node->in_edges()) waits[node->id()] += counts(*edge) ? 1 : 0;
    if (waits[node->id()] == 0) order.push_back(node);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (const Edge* edge : order[i]->out_edges()) {
      if (counts(*edge) && --waits[edge->dst->id()] == 0) order.push_back(edge->dst);
    }
  }
  return order;
}

LivenessOfNodes::LivenessOfNodes(const Graph& graph, absl::FunctionRef<bool(const Node&)> waits)
    : of_(graph.num_node_ids()) {
  for (const Node* node : ForwardOrder(graph)) {
    if (IsFreeConstant(*node)) continue;
    LivenessConditions conditions;
    for (const Edge* edge : node->in_edges()) {
      const Node& source = *edge->src;
      if (source.IsNextIteration()) continue;
      if (const LivenessConditions* of_source = of(source)) conditions.insert(of_source->begin(), of_source->end());
      if (source.IsSwitch() && !edge->is_control()) conditions.insert({source.id(), edge->src_output});
    }
    if (node->IsMerge() || node->IsEnter() || node->IsExit() || node->IsNextIteration()) conditions = {{node->id(), 0}};
    if (waits(*node)) conditions.insert({node->id(), 0});
    of_[node->id()] = &*kinds_.insert(std::move(conditions)).first;
  }
}

}  // namespace weir
