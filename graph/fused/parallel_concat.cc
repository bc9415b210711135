#include "graph/fused/parallel_concat.h"

#include "core/op/attr_value.h"
#include "graph/fused/expansion.h"

namespace weir {
namespace {

constexpr absl::string_view kStart = "_ParallelConcatStart";
constexpr absl::string_view kUpdate = "_ParallelConcatUpdate";

absl::Status Unknown(const Node& node, absl::string_view reason) {
  return errors::Unimplemented("Node '", node.name(), "' (", node.op(), "): ", reason);
}

bool IsUpdateOf(const Edge& edge) { return edge.dst->op() == kUpdate && edge.dst_input == 0; }

// The updates of `start`, by the rows that they write.
absl::StatusOr<std::vector<Node*>> Rows(const Node& start) {
  std::vector<Node*> updates;
  for (const Edge* edge : start.out_edges()) {
    if (IsUpdateOf(*edge)) updates.push_back(edge->dst);
  }
  std::vector<Node*> rows(updates.size(), nullptr);
  for (Node* update : updates) {
    int64_t row = 0;
    RETURN_IF_ERROR(GetNodeAttr(update->def(), "loc", &row));
    if (row < 0 || row >= static_cast<int64_t>(rows.size()) || rows[row] != nullptr) {
      return Unknown(*update, "rows must be written once each");
    }
    rows[row] = update;
  }
  if (rows.empty()) return Unknown(start, "nothing is written to it");
  return rows;
}

// Consumers of one update would read the whole tensor; TensorFlow's graphs have none.
absl::Status Restore(Node* start, Graph* graph) {
  ASSIGN_OR_RETURN(const std::vector<Node*> rows, Rows(*start));
  InputList values;
  for (Node* update : rows) {
    const Edge* value = update->input_edge(1);
    if (value == nullptr) return errors::InvalidArgument("Node '", update->name(), "' has no update");
    values.emplace_back(Output(value->src, value->src_output));
  }
  FusedExpansion expansion(start, graph);
  const Output concat = expansion.Add(expansion.Op("ParallelConcat", {"shape"}), {values});
  if (!concat.valid()) return expansion.Finish({});
  for (Node* update : rows) {
    for (const Edge* edge : update->in_edges()) {
      if (edge->is_control() && edge->src != concat.node()) graph->AddControlEdge(edge->src, concat.node());
    }
    const std::vector<Edge*> users = update->out_edges();
    for (const Edge* edge : users) {
      if (edge->dst == concat.node()) continue;  // one row waits for another
      if (edge->is_control()) {
        graph->AddControlEdge(concat.node(), edge->dst);
      } else {
        RETURN_IF_ERROR(graph->ReplaceInput(edge->dst, edge->dst_input, concat.node(), 0));
      }
    }
    graph->RemoveNode(update);
  }
  return expansion.Finish({concat});
}

}  // namespace

absl::Status RestoreParallelConcats(Graph* graph) {
  std::vector<Node*> starts;
  for (Node* node : graph->nodes()) {
    if (node->op() == kStart) starts.push_back(node);
  }
  for (Node* start : starts) RETURN_IF_ERROR(Restore(start, graph));
  for (const Node* node : graph->nodes()) {
    if (node->op() == kUpdate) return Unknown(*node, "its value must come from _ParallelConcatStart");
  }
  return absl::OkStatus();
}

}  // namespace weir
