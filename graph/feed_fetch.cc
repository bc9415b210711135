#include "graph/feed_fetch.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "core/op/attr_value.h"
#include "core/rendezvous/rendezvous.h"

namespace weir {
namespace {

class Rewriter {
 public:
  Rewriter(const FeedFetchOptions& options, Graph* graph) : options_(options), graph_(graph) {}

  absl::StatusOr<FeedFetchResult> Run() {
    if (options_.fetches.empty() && options_.targets.empty()) {
      return errors::InvalidArgument("Must specify at least one target to fetch or execute.");
    }
    // Resolves names before feeds change their meaning.
    for (const std::string& name : options_.targets) RETURN_IF_ERROR(FindTarget(name));
    RETURN_IF_ERROR(CheckNames());
    for (const auto& [from, to] : options_.connections) RETURN_IF_ERROR(Connect(from, to));
    for (const std::string& name : options_.feeds) RETURN_IF_ERROR(Feed(name));
    for (const std::string& name : options_.fetches) RETURN_IF_ERROR(Fetch(name));
    Prune();
    return std::move(result_);
  }

 private:
  absl::Status CheckNames() {
    absl::flat_hash_set<std::string> fed;
    for (const std::string& name : options_.feeds) {
      ASSIGN_OR_RETURN(TensorName tensor, TensorName::Parse(name));
      if (!fed.insert(tensor.ToString()).second) {
        return errors::InvalidArgument("Endpoint \"", name, "\" fed more than once.");
      }
    }
    for (const std::string& name : options_.fetches) {
      ASSIGN_OR_RETURN(TensorName tensor, TensorName::Parse(name));
      if (fed.contains(tensor.ToString())) {
        return errors::InvalidArgument(tensor.ToString(), " is both fed and fetched.");
      }
    }
    return absl::OkStatus();
  }

  absl::Status FindTarget(const std::string& name) {
    ASSIGN_OR_RETURN(TensorName target, TensorName::Parse(name));
    Node* node = graph_->FindNode(target.node);
    if (node == nullptr) {
      return errors::NotFound("PruneForTargets: Some target nodes not found: ", name);
    }
    targets_.push_back(node);
    return absl::OkStatus();
  }

  absl::Status Feed(const std::string& name) {
    ASSIGN_OR_RETURN(TensorName tensor, TensorName::Parse(name));
    Node* fed = graph_->FindNode(tensor.node);
    if (fed == nullptr) return errors::NotFound("FeedInputs: unable to find feed output ", name);
    if (tensor.output >= fed->num_outputs()) {
      return errors::InvalidArgument("FeedInputs: ", name, " should have output index < ", fed->num_outputs());
    }
    tensorflow::NodeDef def;
    def.set_name(graph_->UniqueName(absl::StrCat("_recv_", tensor.node, "_", tensor.output)));
    def.set_op("_Recv");
    SetNodeAttr("tensor_type", RemoveRef(fed->output_type(tensor.output)), &def);
    ASSIGN_OR_RETURN(Node * recv, AddTransfer(std::move(def), name, *fed));
    result_.feed_nodes.push_back(recv);
    result_.feed_keys.push_back(KeyOf(name, *recv));
    return MoveConsumers(fed, tensor.output, recv);
  }

  absl::StatusOr<std::pair<Node*, int>> FindTensor(const std::string& name) const {
    ASSIGN_OR_RETURN(TensorName tensor, TensorName::Parse(name));
    Node* node = graph_->FindNode(tensor.node);
    if (node == nullptr) return errors::NotFound("Tensor connection: node of ", name, " not found");
    if (tensor.output < node->num_outputs()) return std::make_pair(node, tensor.output);
    return errors::InvalidArgument("Tensor connection: ", name, " should have output index < ", node->num_outputs());
  }

  absl::Status Connect(const std::string& from, const std::string& to) {
    ASSIGN_OR_RETURN(const auto source, FindTensor(from));
    ASSIGN_OR_RETURN(const auto replaced, FindTensor(to));
    const std::vector<Edge*> users = replaced.first->out_edges();
    for (const Edge* edge : users) {
      if (edge->src_output != replaced.second) continue;
      RETURN_IF_ERROR(graph_->ReplaceInput(edge->dst, edge->dst_input, source.first, source.second));
    }
    return absl::OkStatus();
  }

  absl::Status MoveConsumers(Node* fed, int output, Node* recv) {
    const bool is_placeholder = fed->op().starts_with("Placeholder");
    std::vector<Edge> moved;
    for (const Edge* edge : fed->out_edges()) {
      // An op that writes a variable keeps the variable, even if a value is fed for its readers.
      const bool writes = !edge->is_control() && IsRefType(edge->dst->input_type(edge->dst_input));
      if (edge->src_output == output && !writes) moved.push_back(*edge);
      // Nodes that waited for a placeholder wait for the fed value: a placeholder itself cannot run.
      if (edge->is_control() && is_placeholder) moved.push_back(*edge);
    }
    for (const Edge& edge : moved) {
      if (edge.is_control()) {
        graph_->AddControlEdge(recv, edge.dst);
      } else {
        RETURN_IF_ERROR(graph_->ReplaceInput(edge.dst, edge.dst_input, recv, 0));
      }
    }
    if (!is_placeholder) return absl::OkStatus();
    const std::vector<Edge*> left = fed->out_edges();
    for (const Edge* edge : left) {
      if (edge->is_control()) graph_->RemoveEdge(edge);
    }
    return absl::OkStatus();
  }

  absl::Status Fetch(const std::string& name) {
    ASSIGN_OR_RETURN(TensorName tensor, TensorName::Parse(name));
    Node* node = graph_->FindNode(tensor.node);
    if (node == nullptr) return errors::NotFound("FetchOutputs node ", name, ": not found");
    if (tensor.output >= node->num_outputs()) {
      return errors::InvalidArgument("FetchOutputs ", name, ": output index too large, must be < ",
                                     node->num_outputs());
    }
    tensorflow::NodeDef def;
    def.set_name(graph_->UniqueName(absl::StrCat("_send_", tensor.node, "_", tensor.output)));
    def.set_op("_Send");
    SetNodeAttr("T", RemoveRef(node->output_type(tensor.output)), &def);
    ASSIGN_OR_RETURN(Node * send, AddTransfer(std::move(def), name, *node));
    RETURN_IF_ERROR(graph_->AddEdge(node, tensor.output, send, 0).status());
    result_.fetch_nodes.push_back(send);
    result_.fetch_keys.push_back(KeyOf(name, *send));
    return absl::OkStatus();
  }

  absl::StatusOr<Node*> AddTransfer(tensorflow::NodeDef def, const std::string& tensor_name, const Node& beside) {
    const std::string& device = beside.assigned_device().empty() ? options_.default_device : beside.assigned_device();
    SetNodeAttr("tensor_name", tensor_name, &def);
    SetNodeAttr("send_device", device, &def);
    SetNodeAttr("recv_device", device, &def);
    SetNodeAttr("send_device_incarnation", static_cast<int64_t>(options_.incarnation(device)), &def);
    SetNodeAttr("client_terminated", true, &def);
    def.set_device(device);
    ASSIGN_OR_RETURN(Node * node, graph_->AddNode(std::move(def)));
    node->set_assigned_device(device);
    return node;
  }

  std::string KeyOf(const std::string& tensor_name, const Node& node) const {
    const std::string& device = node.assigned_device();
    return RendezvousKey::Create(device, options_.incarnation(device), device, tensor_name, FrameAndIter());
  }

  void Prune() {
    std::vector<bool> needed(graph_->num_node_ids(), false);
    std::vector<Node*> stack = targets_;
    stack.insert(stack.end(), result_.fetch_nodes.begin(), result_.fetch_nodes.end());
    // A fed tensor that nothing reads is accepted and dropped.
    stack.insert(stack.end(), result_.feed_nodes.begin(), result_.feed_nodes.end());
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      if (needed[node->id()]) continue;
      needed[node->id()] = true;
      for (const Edge* edge : node->in_edges()) stack.push_back(edge->src);
    }
    for (Node* node : graph_->nodes()) {
      if (!needed[node->id()]) graph_->RemoveNode(node);
    }
  }

  const FeedFetchOptions& options_;
  Graph* const graph_;
  std::vector<Node*> targets_;
  FeedFetchResult result_;
};

}  // namespace

absl::StatusOr<TensorName> TensorName::Parse(absl::string_view name) {
  TensorName tensor;
  const size_t colon = name.rfind(':');
  tensor.node = std::string(name.substr(0, colon));
  const bool has_output = colon != absl::string_view::npos;
  if (tensor.node.empty() || tensor.node[0] == '^' ||
      (has_output && (!absl::SimpleAtoi(name.substr(colon + 1), &tensor.output) || tensor.output < 0))) {
    return errors::InvalidArgument("Tensor name \"", name, "\" is malformed; expected \"node\" or \"node:output\"");
  }
  return tensor;
}

absl::StatusOr<FeedFetchResult> RewriteForFeedsAndFetches(const FeedFetchOptions& options, Graph* graph) {
  return Rewriter(options, graph).Run();
}

}  // namespace weir
