#include "graph/node_replacement.h"

#include "core/op/attr_value.h"
#include "graph/op_builder.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir {

absl::StatusOr<Output> NodeReplacement::Input(int i) const {
  const Edge* edge = node_->input_edge(i);
  if (edge == nullptr) {
    return errors::InvalidArgument("Input ", i, " of node '", node_->name(), "' is not connected");
  }
  return Output(edge->src, edge->src_output);
}

absl::StatusOr<Output> NodeReplacement::Add(absl::string_view role, tensorflow::NodeDef def,
                                            const std::vector<InputList>& inputs, const std::string* device) {
  def.set_name(graph_->UniqueName(absl::StrCat(node_->name(), "/", role)));
  def.set_device(device != nullptr ? *device : node_->requested_device());
  const int first_new = graph_->num_node_ids();
  absl::StatusOr<Operation> added = AddOperation(graph_, std::move(def), inputs);
  for (int id = first_new; id < graph_->num_node_ids(); ++id) {
    if (graph_->node(id) != nullptr) added_.push_back(graph_->node(id));
  }
  RETURN_IF_ERROR(added.status());
  return Output(*added, 0);
}

absl::StatusOr<Output> NodeReplacement::AddOp(absl::string_view role, absl::string_view op,
                                              const std::vector<InputList>& inputs, const std::string* device) {
  tensorflow::NodeDef def;
  def.set_op(std::string(op));
  return Add(role, std::move(def), inputs, device);
}

absl::StatusOr<Node*> NodeReplacement::AddCall(absl::string_view role, const tensorflow::NameAttrList& function,
                                               const std::vector<Output>& args, const DataTypeVector& results) {
  tensorflow::NodeDef def;
  def.set_op("StatefulPartitionedCall");
  DataTypeVector types;
  for (const Output& arg : args) types.push_back(arg.type());
  SetNodeAttr("Tin", types, &def);
  SetNodeAttr("Tout", results, &def);
  *(*def.mutable_attr())["f"].mutable_func() = function;
  ASSIGN_OR_RETURN(Output call, Add(role, std::move(def), {InputList(args.begin(), args.end())}));
  return call.node();
}

absl::StatusOr<Output> NodeReplacement::AddTruth(absl::string_view role, const Output& value) {
  if (value.type() == DT_BOOL) return value;
  return AddOp(role, "ToBool", {{value}});
}

void NodeReplacement::InheritControl(Node* waiting) {
  for (const Edge* edge : node_->in_edges()) {
    if (edge->is_control()) graph_->AddControlEdge(edge->src, waiting);
  }
}

absl::Status NodeReplacement::Finish(const std::vector<Output>& results, const std::vector<Node*>& effects) {
  tensorflow::NodeDef def;
  def.set_op(results.empty() ? "NoOp" : "IdentityN");
  std::vector<InputList> inputs;
  if (!results.empty()) inputs.emplace_back(results.begin(), results.end());
  ASSIGN_OR_RETURN(Output stay, Add("results", std::move(def), inputs));
  for (Node* effect : effects) graph_->AddControlEdge(effect, stay.node());
  const std::vector<Edge*> users = node_->out_edges();
  for (const Edge* edge : users) {
    Node* user = edge->dst;
    if (edge->is_control()) {
      graph_->AddControlEdge(stay.node(), user);
    } else {
      const Output& source = results[edge->src_output];
      RETURN_IF_ERROR(graph_->ReplaceInput(user, edge->dst_input, source.node(), source.index()));
    }
  }
  const std::string name = node_->name();
  graph_->RemoveNode(node_);
  return graph_->RenameNode(stay.node(), name);
}

void NodeReplacement::Abandon() {
  for (Node* node : added_) graph_->RemoveNode(node);
  added_.clear();
}

}  // namespace weir
