// Inlining of calls.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/strip.h"
#include "core/device/device_name.h"
#include "core/op/attr_value.h"
#include "graph/functions/function_body.h"
#include "tensorflow/core/framework/function.pb.h"

namespace weir {
namespace {

using tensorflow::NameAttrList;
using tensorflow::NodeDef;

bool IsArgOrRet(const Node& node) { return node.op() == "_Arg" || node.op() == "_Retval"; }

// Nodes that must run even if no result of the call needs them.
std::vector<const Node*> Effects(const FunctionBody& body, const Node& call) {
  std::vector<const Node*> effects;
  for (const Node* node : body.control_rets) {
    if (!IsArgOrRet(*node)) effects.push_back(node);
  }
  const bool is_partitioned = call.op() == "PartitionedCall" || call.op() == "StatefulPartitionedCall";
  bool is_whole = false;
  if (is_partitioned && !(GetNodeAttr(call.def(), kWholeCallAttr, &is_whole).ok() && is_whole)) return effects;
  for (const Node* node : body.graph->nodes()) {
    if (node->IsStateful() && !IsArgOrRet(*node)) effects.push_back(node);
  }
  return effects;
}

// A tensor of the graph that the body is inlined into.
struct Source {
  Node* node = nullptr;
  int output = 0;
};

class Inliner {
 public:
  Inliner(const FunctionBody& body, Node* call, Graph* graph)
      : body_(body), call_(call), graph_(graph), effects_(Effects(body, *call)) {}

  absl::Status Run() {
    RETURN_IF_ERROR(CheckTypes());
    absl::Status status = AddBody();
    // Up to this point existing nodes of the graph are unchanged.
    if (status.ok()) status = AddResultNode();
    if (!status.ok()) {
      for (Node* node : added_) graph_->RemoveNode(node);
      return status;
    }
    return ReplaceCall();
  }

 private:
  absl::Status CheckTypes() const;
  absl::Status AddBody();
  absl::Status AddResultNode();
  absl::Status ReplaceCall();
  absl::StatusOr<NodeDef> Renamed(const Node& node) const;
  absl::StatusOr<Node*> Add(NodeDef def);
  absl::Status ConnectBodyEdge(const Edge& edge);
  absl::Status HoldBackSources();
  // The source of the tensor that `edge` carries inside of the body.
  Source SourceOf(const Edge& edge) const;
  // A node that runs once the value of `edge`, into the call, has arrived alive.
  absl::StatusOr<Node*> Arrival(const Edge& edge);

  const FunctionBody& body_;
  Node* const call_;
  Graph* const graph_;
  const std::vector<const Node*> effects_;
  absl::flat_hash_map<const Node*, Node*> twins_;
  std::vector<Node*> added_;
  absl::flat_hash_map<std::pair<Node*, int>, Node*> arrivals_;
  std::vector<Source> results_;
  Node* result_node_ = nullptr;
};

// The mismatch between a call and its function, in TensorFlow's words; empty if there is none.
std::string Misfit(const FunctionBody& body, const Node& call) {
  if (call.input_types().size() != body.arg_types.size()) {
    return absl::StrCat("Expects ", body.arg_types.size(), " arguments, but ", call.input_types().size(),
                        " is provided");
  }
  for (size_t i = 0; i < body.arg_types.size(); ++i) {
    if (call.input_types()[i] == body.arg_types[i]) continue;
    return absl::StrCat("Expects arg[", i, "] to be ", DataTypeName(body.arg_types[i]), " but ",
                        DataTypeName(call.input_types()[i]), " is provided");
  }
  if (call.output_types().size() != body.ret_types.size()) {
    return absl::StrCat(call.op() == "SymbolicGradient" ? "SymGrad" : "The call", " expects to return ",
                        call.output_types().size(), " tensor(s), but get ", body.ret_types.size(),
                        " tensor(s) instead.");
  }
  for (size_t i = 0; i < body.ret_types.size(); ++i) {
    if (call.output_types()[i] == body.ret_types[i]) continue;
    return absl::StrCat("Expect ", i, "-th output is of type ", DataTypeName(call.output_types()[i]), " but get ",
                        DataTypeName(body.ret_types[i]));
  }
  return "";
}

absl::Status Inliner::CheckTypes() const {
  const std::string misfit = Misfit(body_, *call_);
  if (misfit.empty()) return absl::OkStatus();
  return errors::InvalidArgument(misfit, "\nNode '", call_->name(), "' calls with (",
                                 DataTypeListName(call_->input_types()), ") -> (",
                                 DataTypeListName(call_->output_types()), ") a function of type (",
                                 DataTypeListName(body_.arg_types), ") -> (", DataTypeListName(body_.ret_types), ")");
}

absl::StatusOr<NodeDef> Inliner::Renamed(const Node& node) const {
  NodeDef def = node.def();
  def.set_name(graph_->UniqueName(absl::StrCat(call_->name(), "/", node.name())));
  if (def.device().empty()) {
    def.set_device(call_->requested_device());
  } else {
    ASSIGN_OR_RETURN(DeviceName outer, DeviceName::Parse(call_->requested_device()));
    ASSIGN_OR_RETURN(DeviceName inner, DeviceName::Parse(def.device()));
    def.set_device(outer.OverriddenBy(inner).ToString());
  }
  auto attr = def.mutable_attr()->find("frame_name");
  if (node.IsEnter() && attr != def.mutable_attr()->end()) {
    attr->second.set_s(absl::StrCat(call_->name(), "/", attr->second.s()));
  }
  if (attr = def.mutable_attr()->find("_class"); attr != def.mutable_attr()->end()) {
    for (std::string& peer : *attr->second.mutable_list()->mutable_s()) {
      absl::string_view name = peer;
      if (absl::ConsumePrefix(&name, "loc:@") && body_.graph->FindNode(name) != nullptr) {
        peer = absl::StrCat("loc:@", call_->name(), "/", name);
      }
    }
  }
  return def;
}

absl::StatusOr<Node*> Inliner::Add(NodeDef def) {
  ASSIGN_OR_RETURN(Node * node, graph_->AddNode(std::move(def)));
  node->set_assigned_device(call_->assigned_device());
  added_.push_back(node);
  return node;
}

Source Inliner::SourceOf(const Edge& edge) const {
  if (edge.src->op() != "_Arg") return {twins_.at(edge.src), edge.src_output};
  const auto arg = std::find(body_.args.begin(), body_.args.end(), edge.src) - body_.args.begin();
  const Edge* input = call_->input_edge(static_cast<int>(arg));
  return {input->src, input->src_output};
}

// A control edge from a Switch does not depend on the branch taken; one from a reader of the branch does.
absl::StatusOr<Node*> Inliner::Arrival(const Edge& edge) {
  if (edge.is_control() || !edge.src->IsSwitch()) return edge.src;
  Node*& arrival = arrivals_[{edge.src, edge.src_output}];
  if (arrival != nullptr) return arrival;
  const DataType type = edge.src->output_type(edge.src_output);
  NodeDef def;
  def.set_name(graph_->UniqueName(absl::StrCat(call_->name(), "/input")));
  def.set_op(IsRefType(type) ? "RefIdentity" : "Identity");
  def.set_device(edge.src->requested_device());
  SetNodeAttr("T", RemoveRef(type), &def);
  ASSIGN_OR_RETURN(arrival, Add(std::move(def)));
  arrival->set_assigned_device(edge.src->assigned_device());
  RETURN_IF_ERROR(graph_->AddEdge(edge.src, edge.src_output, arrival, 0).status());
  return arrival;
}

absl::Status Inliner::ConnectBodyEdge(const Edge& edge) {
  Node* dst = twins_.at(edge.dst);
  if (edge.is_control() && edge.src->op() == "_Arg") {
    const auto arg = std::find(body_.args.begin(), body_.args.end(), edge.src) - body_.args.begin();
    ASSIGN_OR_RETURN(Node * arrival, Arrival(*call_->input_edge(static_cast<int>(arg))));
    graph_->AddControlEdge(arrival, dst);
    return absl::OkStatus();
  }
  const Source source = SourceOf(edge);
  if (!edge.is_control()) return graph_->AddEdge(source.node, source.output, dst, edge.dst_input).status();
  graph_->AddControlEdge(source.node, dst);
  return absl::OkStatus();
}

absl::Status Inliner::AddBody() {
  for (int i = 0; i < call_->num_inputs(); ++i) {
    if (call_->input_edge(i) == nullptr) {
      return errors::InvalidArgument("Input ", i, " of node ", call_->name(), " is not connected");
    }
  }
  for (const Node* node : body_.graph->nodes()) {
    if (IsArgOrRet(*node)) continue;
    ASSIGN_OR_RETURN(NodeDef def, Renamed(*node));
    ASSIGN_OR_RETURN(twins_[node], Add(std::move(def)));
  }
  for (const Node* node : body_.graph->nodes()) {
    if (IsArgOrRet(*node)) continue;
    for (const Edge* edge : node->in_edges()) RETURN_IF_ERROR(ConnectBodyEdge(*edge));
  }
  for (const Node* ret : body_.rets) results_.push_back(SourceOf(*ret->input_edge(0)));
  return HoldBackSources();
}

// Source nodes of the body must not run before, or without, the call, which may be in a loop or in a branch that is not
// taken. If the call waits for other nodes, so do all users of its arguments.
absl::Status Inliner::HoldBackSources() {
  std::vector<Node*> waiting;
  const bool call_waits = std::any_of(call_->in_edges().begin(), call_->in_edges().end(),
                                      [](const Edge* edge) { return edge->is_control(); });
  for (const auto& [original, twin] : twins_) {
    const bool inside = std::any_of(original->in_edges().begin(), original->in_edges().end(),
                                    [](const Edge* edge) { return edge->src->op() != "_Arg"; });
    if (original->in_edges().empty() || (call_waits && !inside)) waiting.push_back(twin);
  }
  if (waiting.empty() || call_->in_edges().empty()) return absl::OkStatus();
  NodeDef def;
  def.set_name(graph_->UniqueName(absl::StrCat(call_->name(), "/inputs")));
  def.set_op("NoOp");
  def.set_device(call_->requested_device());
  ASSIGN_OR_RETURN(Node * inputs, Add(std::move(def)));
  const std::vector<Edge*> arriving = call_->in_edges();
  for (const Edge* edge : arriving) {
    ASSIGN_OR_RETURN(Node * arrival, Arrival(*edge));
    graph_->AddControlEdge(arrival, inputs);
  }
  std::sort(waiting.begin(), waiting.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
  for (Node* node : waiting) graph_->AddControlEdge(inputs, node);
  return absl::OkStatus();
}

// Replaces the call (and later takes its name): returns its results once all its effects have run.
absl::Status Inliner::AddResultNode() {
  NodeDef def;
  def.set_name(graph_->UniqueName(absl::StrCat(call_->name(), "/results")));
  def.set_op(results_.empty() ? "NoOp" : "IdentityN");
  def.set_device(call_->requested_device());
  if (!results_.empty()) SetNodeAttr("T", call_->output_types(), &def);
  ASSIGN_OR_RETURN(result_node_, Add(std::move(def)));
  for (size_t i = 0; i < results_.size(); ++i) {
    RETURN_IF_ERROR(graph_->AddEdge(results_[i].node, results_[i].output, result_node_, static_cast<int>(i)).status());
  }
  for (const Node* effect : effects_) graph_->AddControlEdge(twins_.at(effect), result_node_);
  const std::vector<Edge*> arriving = call_->in_edges();
  for (const Edge* edge : arriving) {
    if (!edge->is_control() && !results_.empty()) continue;
    ASSIGN_OR_RETURN(Node * arrival, Arrival(*edge));
    graph_->AddControlEdge(arrival, result_node_);
  }
  return absl::OkStatus();
}

absl::Status Inliner::ReplaceCall() {
  const std::vector<Edge*> users = call_->out_edges();
  for (const Edge* edge : users) {
    Node* dst = edge->dst;
    if (edge->is_control()) {
      graph_->AddControlEdge(result_node_, dst);
      continue;
    }
    const Source direct = results_[edge->src_output];
    const Source source = effects_.empty() ? direct : Source{result_node_, edge->src_output};
    RETURN_IF_ERROR(graph_->ReplaceInput(dst, edge->dst_input, source.node, source.output));
  }
  const std::string name = call_->name();
  graph_->RemoveNode(call_);
  return graph_->RenameNode(result_node_, name);
}

bool IsNoInline(const tensorflow::FunctionDef& function) {
  auto it = function.attr().find("_noinline");
  return it != function.attr().end() && it->second.b();
}

}  // namespace

bool HasConditionalEffects(const FunctionBody& body, const Node& call) {
  if (Effects(body, call).empty()) return false;
  const std::vector<Node*> nodes = body.graph->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) { return node->IsSwitch() || node->IsEnter(); });
}

absl::Status InlineFunctionCall(const FunctionBody& body, Node* call, Graph* graph) {
  return Inliner(body, call, graph).Run();
}

absl::Status InlineFunctionCalls(const InlineOptions& options, Graph* graph) {
  const FunctionLibrary library = graph->functions();
  std::vector<Node*> calls = graph->nodes();
  for (int depth = 0; depth < options.max_depth && !calls.empty(); ++depth) {
    const int first_new = graph->num_node_ids();
    for (Node* node : calls) {
      if (graph->num_nodes() > options.max_nodes) return absl::OkStatus();
      const NameAttrList called = CalledFunction(*node);
      const tensorflow::FunctionDef* function = called.name().empty() ? nullptr : library.Find(called.name());
      if (function == nullptr || IsNoInline(*function)) continue;
      const AttrMap attrs(called.attr().begin(), called.attr().end());
      auto body = InstantiateFunction(*function, attrs, graph->ops(), library);
      if (!body.ok()) return Annotate(body.status(), absl::StrCat("Node '", node->name(), "'"));
      if (HasConditionalEffects(*body, *node)) continue;
      RETURN_IF_ERROR(InlineFunctionCall(*body, node, graph));
    }
    calls.clear();
    for (int id = first_new; id < graph->num_node_ids(); ++id) {
      if (graph->node(id) != nullptr) calls.push_back(graph->node(id));
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
