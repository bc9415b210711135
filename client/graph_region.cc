#include "client/graph_region.h"

#include <algorithm>

#include "graph/gradients/loop_structure.h"
#include "graph/graph.h"

namespace weir {

bool GraphRegion::Contains(const Node& node) const { return node.id() >= first && node.id() < last; }
bool GraphRegion::IsOutside(const Node& node) const { return node.id() < outside_end; }

absl::Status GraphRegion::RerouteInputs(const BringIn& bring_in) const {
  for (int id = first; id < last; ++id) {
    Node* node = graph->node(id);
    if (node == nullptr) continue;
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Edge* edge = node->input_edge(i);
      if (edge == nullptr || !IsOutside(*edge->src)) continue;
      ASSIGN_OR_RETURN(Output inside, bring_in(Output(edge->src, edge->src_output)));
      RETURN_IF_ERROR(graph->ReplaceInput(node, i, inside.node(), inside.index()));
    }
  }
  return absl::OkStatus();
}

void GraphRegion::MoveControlInputs(const std::vector<Node*>& entries) const {
  for (int id = first; id < last; ++id) {
    Node* node = graph->node(id);
    if (node == nullptr) continue;
    const std::vector<Edge*> edges(node->in_edges().begin(), node->in_edges().end());
    for (const Edge* edge : edges) {
      if (!edge->is_control() || !IsOutside(*edge->src)) continue;
      for (Node* entry : entries) graph->AddControlEdge(edge->src, entry);
      graph->RemoveEdge(edge);
    }
  }
}

void GraphRegion::PinTo(Node* pivot) const {
  for (int id = first; id < last; ++id) {
    Node* node = graph->node(id);
    if (node == nullptr) continue;
    const bool led_to = std::any_of(node->in_edges().begin(), node->in_edges().end(), [this](const Edge* edge) {
      return !IsOutside(*edge->src) && (Contains(*edge->src) || !IsConstantEnter(*edge->src));
    });
    if (!led_to) graph->AddControlEdge(pivot, node);
  }
}

}  // namespace weir
