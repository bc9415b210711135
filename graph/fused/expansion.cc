#include "graph/fused/expansion.h"

#include "core/op/attr_value.h"
#include "graph/op_builder.h"

namespace weir {

FusedExpansion::FusedExpansion(Node* node, Graph* graph) : node_(node), graph_(graph), name_(node->name()) {
  status_ = graph->RenameNode(node, graph->UniqueName(absl::StrCat(name_, "/fused")));
}

Output FusedExpansion::Input(int i) {
  const Edge* edge = i < node_->num_inputs() ? node_->input_edge(i) : nullptr;
  if (edge == nullptr) return Fail(errors::InvalidArgument("input ", i, " is not connected"));
  return Output(edge->src, edge->src_output);
}

template <typename V>
V FusedExpansion::Attr(absl::string_view name) {
  V value{};
  status_.Update(GetNodeAttr(node_->def(), name, &value));
  return value;
}
template int64_t FusedExpansion::Attr(absl::string_view);
template float FusedExpansion::Attr(absl::string_view);
template std::string FusedExpansion::Attr(absl::string_view);
template std::vector<int64_t> FusedExpansion::Attr(absl::string_view);
template std::vector<std::string> FusedExpansion::Attr(absl::string_view);

tensorflow::NodeDef FusedExpansion::Op(absl::string_view op, std::initializer_list<absl::string_view> copied) const {
  tensorflow::NodeDef def;
  def.set_op(std::string(op));
  for (absl::string_view name : copied) {
    if (const auto* attr = FindAttr(node_->def(), name)) SetNodeAttr(name, *attr, &def);
  }
  return def;
}

Output FusedExpansion::Add(tensorflow::NodeDef def, const std::vector<InputList>& inputs) {
  if (!status_.ok()) return Output();
  def.set_name(first_ == nullptr ? name_ : graph_->UniqueName(absl::StrCat(name_, "/", def.op())));
  def.set_device(node_->requested_device());
  absl::StatusOr<Operation> added = AddOperation(graph_, std::move(def), inputs);
  if (!added.ok()) return Fail(added.status());
  Node* const node = added->node();
  if (first_ == nullptr) {
    first_ = node;
    for (const Edge* edge : node_->in_edges()) {
      if (edge->is_control()) graph_->AddControlEdge(edge->src, node);
    }
  }
  return Output(node, 0);
}

Output FusedExpansion::Fail(absl::Status error) {
  status_.Update(Annotate(std::move(error), absl::StrCat("Node '", name_, "' (", node_->op(), ")")));
  return Output();
}

absl::Status FusedExpansion::Finish(const std::vector<Output>& results) {
  RETURN_IF_ERROR(status_);
  const std::vector<Edge*> users = node_->out_edges();
  for (const Edge* edge : users) {
    if (edge->is_control()) {
      graph_->AddControlEdge(results[0].node(), edge->dst);
    } else {
      const Output& source = results[edge->src_output];
      RETURN_IF_ERROR(graph_->ReplaceInput(edge->dst, edge->dst_input, source.node(), source.index()));
    }
  }
  graph_->RemoveNode(node_);
  return absl::OkStatus();
}

}  // namespace weir
