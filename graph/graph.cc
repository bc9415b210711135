#include "graph/graph.h"

#include <algorithm>

#include "core/op/attr_value.h"
#include "graph/function_library.h"
#include "tensorflow/core/framework/function.pb.h"

namespace weir {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

// Only function bodies may have attributes that the caller sets.
absl::Status CheckNoPlaceholders(const NodeDef& node) {
  for (const auto& [name, value] : node.attr()) {
    if (value.value_case() != tensorflow::AttrValue::kPlaceholder) continue;
    return errors::InvalidArgument("Node '", node.name(), "': attr '", name, "' is the placeholder '",
                                   value.placeholder(), "'; a graph needs a value");
  }
  return absl::OkStatus();
}

// Keeps data edges in the first `*num_data` entries of `list`.
template <int Edge::*position>
void Insert(Edge* edge, std::vector<Edge*>* list, int* num_data) {
  list->push_back(edge);
  edge->*position = static_cast<int>(list->size()) - 1;
  if (edge->is_control()) return;
  const int at = (*num_data)++;
  std::swap((*list)[at], list->back());
  list->back()->*position = static_cast<int>(list->size()) - 1;
  edge->*position = at;
}

template <int Edge::*position>
void Erase(const Edge* edge, std::vector<Edge*>* list, int* num_data) {
  int hole = edge->*position;
  auto fill = [&](int from) {
    if (from == hole) return;
    (*list)[hole] = (*list)[from];
    (*list)[hole]->*position = hole;
    hole = from;
  };
  if (!edge->is_control()) fill(--*num_data);
  fill(static_cast<int>(list->size()) - 1);
  list->pop_back();
}

// A hint for clients that fetch intermediate outputs of functional control flow.
absl::string_view HintForMissingOutput(const Node& node) {
  for (absl::string_view op : {"If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile"}) {
    if (node.op() == op) return " Try using tf.compat.v1.experimental.output_all_intermediates(True).";
  }
  return "";
}

std::string InputName(const Edge& edge) {
  if (edge.is_control()) return absl::StrCat("^", edge.src->name());
  if (edge.src_output == 0) return edge.src->name();
  return absl::StrCat(edge.src->name(), ":", edge.src_output);
}

}  // namespace

bool Node::IsStateful() const { return op_def_->is_stateful(); }

Graph::Graph(const OpRegistry* ops) : ops_(ops), functions_(std::make_unique<FunctionLibrary>()) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

absl::StatusOr<std::unique_ptr<Node>> Graph::MakeNode(NodeDef def) const {
  auto node = std::make_unique<Node>();
  node->registration_ = ops_->Find(def.op());
  if (node->registration_ != nullptr) {
    node->op_def_ = node->registration_->op_def.get();
  } else if (node->op_def_ = functions_->FindSignature(def.op()); node->op_def_ == nullptr) {
    return Annotate(ops_->LookUp(def.op()).status(), absl::StrCat("Node '", def.name(), "'"));
  }
  def.clear_input();
  AddDefaultAttrs(*node->op_def_, &def);
  RETURN_IF_ERROR(CheckNoPlaceholders(def));
  RETURN_IF_ERROR(InOutTypesForNode(def, *node->op_def_, &node->input_types_, &node->output_types_));
  RETURN_IF_ERROR(ValidateNodeAttrs(def, *node->op_def_));
  node->inputs_.resize(node->input_types_.size());
  node->def_ = std::move(def);
  return node;
}

absl::StatusOr<Node*> Graph::AddNode(NodeDef def) {
  if (def.name().empty()) return errors::InvalidArgument("A node of op ", def.op(), " has no name");
  if (by_name_.contains(def.name())) return errors::AlreadyExists("Node '", def.name(), "' is not unique");
  ASSIGN_OR_RETURN(std::unique_ptr<Node> node, MakeNode(std::move(def)));
  node->id_ = static_cast<int>(nodes_.size());
  by_name_[node->name()] = node.get();
  ++num_nodes_;
  nodes_.push_back(std::move(node));
  return nodes_.back().get();
}

absl::Status Graph::ChangeOp(Node* node, NodeDef def) {
  def.set_name(node->name());
  ASSIGN_OR_RETURN(const std::unique_ptr<Node> made, MakeNode(std::move(def)));
  if (made->output_types_ != node->output_types_) {
    return errors::InvalidArgument("Node '", node->name(), "' has outputs (", DataTypeListName(node->output_types_),
                                   "), an op ", made->op(), " in its place (", DataTypeListName(made->output_types_),
                                   ")");
  }
  while (!node->in_edges_.empty()) RemoveEdge(node->in_edges_.back());
  node->def_ = std::move(made->def_);
  node->op_def_ = made->op_def_;
  node->registration_ = made->registration_;
  node->input_types_ = std::move(made->input_types_);
  node->inputs_ = std::move(made->inputs_);
  changed_ops_.push_back(node->id_);
  return absl::OkStatus();
}

void Graph::RemoveNode(Node* node) {
  while (!node->in_edges_.empty()) RemoveEdge(node->in_edges_.back());
  while (!node->out_edges_.empty()) RemoveEdge(node->out_edges_.back());
  by_name_.erase(node->name());
  --num_nodes_;
  nodes_[node->id_].reset();
}

absl::Status Graph::RenameNode(Node* node, absl::string_view name) {
  if (by_name_.contains(name)) return errors::AlreadyExists("Node '", name, "' is not unique");
  by_name_.erase(node->name());
  node->def_.set_name(std::string(name));
  by_name_[node->name()] = node;
  return absl::OkStatus();
}

absl::Status Graph::CheckEdge(const Node* src, int src_output, const Node* dst, int dst_input) const {
  if (src_output < 0 || src_output >= src->num_outputs()) {
    return errors::InvalidArgument("Node '", dst->name(), "': Connecting to invalid output ", src_output,
                                   " of source node ", src->name(), " which has ", src->num_outputs(), " outputs.",
                                   HintForMissingOutput(*src));
  }
  if (dst_input < 0 || dst_input >= dst->num_inputs()) {
    return errors::InvalidArgument("Node '", dst->name(), "': Connecting to invalid input ", dst_input,
                                   " of a node which has ", dst->num_inputs(), " inputs.");
  }
  if (!TypesCompatible(dst->input_type(dst_input), src->output_type(src_output))) {
    return errors::InvalidArgument("Input ", dst_input, " of node ", dst->name(), " was passed ",
                                   DataTypeName(src->output_type(src_output)), " from ", src->name(), ":", src_output,
                                   " incompatible with expected ", DataTypeName(dst->input_type(dst_input)), ".");
  }
  return absl::OkStatus();
}

Edge* Graph::NewEdge(Node* src, int src_output, Node* dst, int dst_input) {
  Edge* edge;
  if (free_edges_.empty()) {
    edges_.push_back(std::make_unique<Edge>());
    edge = edges_.back().get();
    edge->id_ = static_cast<int>(edges_.size()) - 1;
  } else {
    edge = edges_[free_edges_.back()].get();
    free_edges_.pop_back();
  }
  edge->src = src;
  edge->src_output = src_output;
  edge->dst = dst;
  edge->dst_input = dst_input;
  Insert<&Edge::out_position_>(edge, &src->out_edges_, &src->num_data_out_);
  Insert<&Edge::in_position_>(edge, &dst->in_edges_, &dst->num_data_in_);
  return edge;
}

absl::StatusOr<Edge*> Graph::AddEdge(Node* src, int src_output, Node* dst, int dst_input) {
  RETURN_IF_ERROR(CheckEdge(src, src_output, dst, dst_input));
  if (const Edge* old = dst->inputs_[dst_input]; old != nullptr) {
    return errors::InvalidArgument("Input ", dst_input, " of node ", dst->name(), " is connected to ", old->src->name(),
                                   ":", old->src_output, " already.");
  }
  Edge* edge = NewEdge(src, src_output, dst, dst_input);
  dst->inputs_[dst_input] = edge;
  return edge;
}

Edge* Graph::AddControlEdge(Node* src, Node* dst) {
  auto joins = [&](const Edge* edge) { return edge->src == src && edge->dst == dst; };
  const int from_src = static_cast<int>(src->out_edges_.size()) - src->num_data_out_;
  const int into_dst = static_cast<int>(dst->in_edges_.size()) - dst->num_data_in_;
  const bool known = from_src < into_dst
                         ? std::any_of(src->out_edges_.begin() + src->num_data_out_, src->out_edges_.end(), joins)
                         : std::any_of(dst->in_edges_.begin() + dst->num_data_in_, dst->in_edges_.end(), joins);
  return known ? nullptr : NewEdge(src, Edge::kControlSlot, dst, Edge::kControlSlot);
}

void Graph::RemoveEdge(const Edge* edge) {
  if (!edge->is_control()) edge->dst->inputs_[edge->dst_input] = nullptr;
  Erase<&Edge::out_position_>(edge, &edge->src->out_edges_, &edge->src->num_data_out_);
  Erase<&Edge::in_position_>(edge, &edge->dst->in_edges_, &edge->dst->num_data_in_);
  free_edges_.push_back(edge->id_);
}

absl::Status Graph::ReplaceInput(Node* dst, int dst_input, Node* src, int src_output) {
  RETURN_IF_ERROR(CheckEdge(src, src_output, dst, dst_input));
  if (const Edge* old = dst->inputs_[dst_input]; old != nullptr) RemoveEdge(old);
  return AddEdge(src, src_output, dst, dst_input).status();
}

Node* Graph::FindNode(absl::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

std::string Graph::UniqueName(absl::string_view prefix) const {
  std::string name(prefix);
  if (!by_name_.contains(name)) return name;
  int& suffix = name_suffixes_[prefix];
  do {
    name = absl::StrCat(prefix, "_", ++suffix);
  } while (by_name_.contains(name));
  return name;
}

std::vector<Node*> Graph::nodes() const {
  std::vector<Node*> nodes;
  nodes.reserve(num_nodes_);
  for (const auto& node : nodes_) {
    if (node != nullptr) nodes.push_back(node.get());
  }
  return nodes;
}

std::unique_ptr<Graph> Graph::Clone() const {
  auto copy = std::make_unique<Graph>(ops_);
  *copy->functions_ = *functions_;
  copy->versions_ = versions_;
  copy->num_nodes_ = num_nodes_;
  copy->changed_ops_ = changed_ops_;
  copy->nodes_.resize(nodes_.size());
  for (const Node* node : nodes()) {
    auto twin = std::make_unique<Node>();
    twin->id_ = node->id_;
    twin->def_ = node->def_;
    twin->op_def_ = node->op_def_;
    twin->registration_ = node->registration_;
    twin->input_types_ = node->input_types_;
    twin->output_types_ = node->output_types_;
    twin->inputs_.resize(node->inputs_.size());
    twin->assigned_device_ = node->assigned_device_;
    copy->by_name_[twin->name()] = twin.get();
    copy->nodes_[node->id_] = std::move(twin);
  }
  for (const Node* node : nodes()) {
    Node* dst = copy->nodes_[node->id_].get();
    for (const Edge* edge : node->in_edges_) {
      Edge* twin = copy->NewEdge(copy->nodes_[edge->src->id_].get(), edge->src_output, dst, edge->dst_input);
      if (!edge->is_control()) dst->inputs_[edge->dst_input] = twin;
    }
  }
  return copy;
}

GraphDef Graph::ToGraphDef() const {
  GraphDef graph;
  for (const Node* node : nodes()) {
    NodeDef* def = graph.add_node();
    *def = node->def_;
    def->clear_input();
    if (!node->assigned_device_.empty()) def->set_device(node->assigned_device_);
    std::vector<const Edge*> controls(node->in_edges_.begin() + node->num_data_in_, node->in_edges_.end());
    std::sort(controls.begin(), controls.end(),
              [](const Edge* a, const Edge* b) { return a->src->id() < b->src->id(); });
    for (const Edge* edge : node->inputs_) {
      if (edge != nullptr) def->add_input(InputName(*edge));
    }
    for (const Edge* edge : controls) def->add_input(InputName(*edge));
  }
  if (!functions_->empty()) *graph.mutable_library() = functions_->ToProto();
  *graph.mutable_versions() = versions_;
  return graph;
}

}  // namespace weir
