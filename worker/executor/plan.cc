#include "worker/executor/plan.h"

#include "absl/container/flat_hash_map.h"
#include "core/op/attr_value.h"
#include "core/tensor/tensor_proto.h"
#include "graph/graph.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "worker/executor/plan_frames.h"

namespace weir {
namespace {

bool UsesState(const Node& node) {
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (node.input_type(i) == DT_RESOURCE || IsRefType(node.input_type(i))) return true;
  }
  return false;
}

bool MayWait(const Node& node) {
  const OpRegistration* const op = node.registration();
  return op != nullptr && op->may_block && !op->writes_state;
}

class PlanCompiler {
 public:
  PlanCompiler(std::unique_ptr<Graph> graph, const Plan::Options& options)
      : options_(options), plan_(std::make_shared<Plan>()) {
    plan_->graph = std::move(graph);
    plan_->device = options.device;
  }

  absl::StatusOr<std::shared_ptr<const Plan>> Run() {
    RETURN_IF_ERROR(CheckInputs());
    RETURN_IF_ERROR(CheckAcyclic(graph()));
    RETURN_IF_ERROR(FindTerminals());
    settled_.assign(graph().num_node_ids(), false);
    for (const Node* node : graph().nodes()) settled_[node->id()] = IsSettled(*node);
    // Arguments belong to frame 0 and place their readers there; constants do not.
    std::vector<bool> settled_constants = settled_;
    for (const Plan::Argument& argument : plan_->arguments) {
      if (argument.node != nullptr) settled_constants[argument.node->id()] = false;
    }
    ASSIGN_OR_RETURN(frames_, AssignFrames(graph(), settled_constants));
    RETURN_IF_ERROR(AddNodes());
    plan_->frames = std::move(frames_.frames);
    AssignSlots();
    if (plan_->framed) {
      RETURN_IF_ERROR(CheckFramedLimits());
      ConnectFramed();
    } else {
      ConnectStraight();
    }
    return std::shared_ptr<const Plan>(std::move(plan_));
  }

 private:
  static constexpr uint32_t kNone = ~0u;
  const Graph& graph() const { return *plan_->graph; }
  PlanNode& plan_node(const Node* node) { return plan_->nodes[plan_id_[node->id()]]; }
  bool Counts(const Edge& edge) const { return !settled_[edge.src->id()]; }

  absl::Status CheckInputs() const {
    for (const Node* node : graph().nodes()) {
      for (int i = 0; i < node->num_inputs(); ++i) {
        if (node->input_edge(i) == nullptr) {
          return errors::InvalidArgument("Input ", i, " of node '", node->name(), "' (", node->op(),
                                         ") is not connected");
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status FindTerminals() {
    argument_.assign(graph().num_node_ids(), kNone);
    result_.assign(graph().num_node_ids(), kNone);
    return options_.is_function ? FindFunctionTerminals() : FindClientTerminals();
  }

  absl::Status FindClientTerminals() {
    absl::flat_hash_map<std::string, uint32_t> feeds, fetches;
    for (const std::string& key : options_.feed_keys) feeds.try_emplace(key, feeds.size());
    for (const std::string& key : options_.fetch_keys) fetches.try_emplace(key, fetches.size());
    if (feeds.size() != options_.feed_keys.size() || fetches.size() != options_.fetch_keys.size()) {
      return errors::InvalidArgument("A feed or fetch key is given twice");
    }
    plan_->arguments.resize(feeds.size());
    plan_->results.resize(fetches.size(), nullptr);
    if (feeds.empty() && fetches.empty()) return absl::OkStatus();
    for (const Node* node : graph().nodes()) {
      const std::string key = ClientTerminalKey(*node);
      if (key.empty()) continue;
      const auto& table = node->IsRecv() ? feeds : fetches;
      if (auto it = table.find(key); it != table.end()) RETURN_IF_ERROR(SetTerminal(*node, it->second, node->IsRecv()));
    }
    for (const auto& [key, i] : feeds) {
      if (plan_->arguments[i].node == nullptr)
        return errors::InvalidArgument("No _Recv node for the feed key '", key, "'");
    }
    for (const auto& [key, i] : fetches) {
      if (plan_->results[i] == nullptr) return errors::InvalidArgument("No _Send node for the fetch key '", key, "'");
    }
    return absl::OkStatus();
  }

  absl::Status FindFunctionTerminals() {
    for (const Node* node : graph().nodes()) {
      const bool is_arg = node->op() == "_Arg";
      if (!is_arg && node->op() != "_Retval") continue;
      int64_t index = -1;
      RETURN_IF_ERROR(GetNodeAttr(node->def(), "index", &index));
      if (index < 0 || index >= graph().num_nodes()) {
        return errors::InvalidArgument("Node '", node->name(), "' (", node->op(), ") has index ", index);
      }
      if (is_arg && index >= plan_->arguments.size()) plan_->arguments.resize(index + 1);
      if (!is_arg && index >= plan_->results.size()) plan_->results.resize(index + 1, nullptr);
      RETURN_IF_ERROR(SetTerminal(*node, index, is_arg));
    }
    for (const Node* result : plan_->results) {
      if (result == nullptr) return errors::InvalidArgument("A function's _Retval nodes must be numbered without gaps");
    }
    return absl::OkStatus();
  }

  absl::Status SetTerminal(const Node& node, uint32_t index, bool is_argument) {
    const Node*& place = is_argument ? plan_->arguments[index].node : plan_->results[index];
    if (place != nullptr) {
      return errors::InvalidArgument("Nodes '", place->name(), "' and '", node.name(), "' stand for the same ",
                                     is_argument ? "argument" : "result");
    }
    place = &node;
    (is_argument ? argument_ : result_)[node.id()] = index;
    return absl::OkStatus();
  }

  // No node has to wait for it. A Merge must see its inputs one by one.
  bool IsSettled(const Node& node) const {
    if (!node.IsConstant() && argument_[node.id()] == kNone) return false;
    if (!node.in_edges().empty()) return false;
    for (const Edge* edge : node.out_edges()) {
      if (edge->dst->IsMerge()) return false;
    }
    return true;
  }

  absl::Status AddNodes() {
    plan_id_.assign(graph().num_node_ids(), kNone);
    constant_.assign(graph().num_node_ids(), kNone);
    for (const Node* node : graph().nodes()) {
      if (node->IsConstant()) RETURN_IF_ERROR(AddConstant(*node));
      if (settled_[node->id()]) continue;
      plan_id_[node->id()] = plan_->nodes.size();
      PlanNode& added = plan_->nodes.emplace_back();
      added.node = node;
      added.frame = frames_.of_node[node->id()];
      PlanFrame& frame = frames_.frames[added.frame];
      added.local = frame.nodes.size();
      frame.nodes.push_back(node);
      RETURN_IF_ERROR(SetAction(*node, &added));
      if (UsesState(*node)) added.flags |= PlanNode::kUsesState;
      if (MayWait(*node)) added.flags |= PlanNode::kWaits;
      for (const Edge* edge : node->in_edges()) {
        if (!edge->is_control() && IsRefType(edge->src->output_type(edge->src_output))) {
          added.flags |= PlanNode::kReferenceInputs;
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddConstant(const Node& node) {
    const tensorflow::AttrValue* value = FindAttr(node.def(), "value");
    if (value == nullptr || value->value_case() != tensorflow::AttrValue::kTensor) {
      return errors::InvalidArgument("Node '", node.name(), "' (Const) has no attribute 'value' of type tensor");
    }
    absl::StatusOr<Tensor> tensor = TensorFromProto(value->tensor(), options_.device->host_allocator());
    if (!tensor.ok()) return Annotate(tensor.status(), absl::StrCat("Constant '", node.name(), "'"));
    if (tensor->dtype() != node.output_type(0)) {
      return errors::InvalidArgument("Constant '", node.name(), "' holds ", DataTypeName(tensor->dtype()),
                                     " where its attribute dtype is ", DataTypeName(node.output_type(0)));
    }
    if (options_.place_constant != nullptr) {
      tensor = options_.place_constant(node, *std::move(tensor));
      if (!tensor.ok()) return Annotate(tensor.status(), absl::StrCat("Constant '", node.name(), "'"));
    }
    constant_[node.id()] = plan_->constants.size();
    plan_->constants.push_back(*tensor);
    plan_->constant_holds.push_back(*std::move(tensor));
    return absl::OkStatus();
  }

  absl::Status SetAction(const Node& node, PlanNode* added) {
    const std::string& op = node.op();
    if (op == "_OptimizedNoOp" || op == "NoOp" || node.IsConstant() || argument_[node.id()] != kNone) {
      return absl::OkStatus();
    }
    if (op == "ControlTrigger") {
      added->flags |= PlanNode::kNeverDead;
    } else if (result_[node.id()] != kNone) {
      added->action = NodeAction::kResult;
      added->index = result_[node.id()];
    } else if (node.IsEnter()) {
      added->action = NodeAction::kEnter;
      added->index = frames_.frames[frames_.child_of_enter[node.id()]].place;
      bool is_constant = false;
      RETURN_IF_ERROR(GetNodeAttr(node.def(), "is_constant", &is_constant));
      if (is_constant) added->flags |= PlanNode::kConstantEnter;
    } else if (node.IsSwitch() && op != "_SwitchN") {
      added->action = NodeAction::kSwitch;
      added->flags |= PlanNode::kMayOutputNothing;
    } else if (node.IsMerge()) {
      added->action = NodeAction::kMerge;
    } else if (node.IsExit()) {
      added->action = NodeAction::kExit;
    } else if (node.IsNextIteration()) {
      added->action = NodeAction::kNextIteration;
    } else if (node.IsLoopCond() || op == "RefIdentity" || (op == "Identity" && !IsRefType(SourceType(node, 0)))) {
      added->action = NodeAction::kForward;
    } else {
      return AddKernel(node, added);
    }
    plan_->framed |= node.IsControlFlow();
    return absl::OkStatus();
  }

  static DataType SourceType(const Node& node, int input) {
    const Edge* edge = node.input_edge(input);
    return edge->src->output_type(edge->src_output);
  }

  absl::Status AddKernel(const Node& node, PlanNode* added) {
    ASSIGN_OR_RETURN(std::shared_ptr<OpKernel> kernel, options_.kernels(node));
    added->kernel = kernel.get();
    const bool is_async = dynamic_cast<AsyncOpKernel*>(kernel.get()) != nullptr;
    added->action = is_async ? NodeAction::kAsyncKernel : NodeAction::kKernel;
    plan_->has_async |= is_async;
    if (kernel->IsExpensive()) added->flags |= PlanNode::kMayBeCostly;
    if (node.op_def().allows_uninitialized_input()) added->flags |= PlanNode::kAllowsUninitialized;
    if (node.IsSend() || node.IsRecv()) added->flags |= PlanNode::kRunsWhenDead;
    if (node.IsRecv() || node.op() == "_SwitchN") added->flags |= PlanNode::kMayOutputNothing;
    // Another partition may send a dead tensor.
    plan_->framed |= node.IsRecv() || node.IsControlFlow();
    plan_->kernels.push_back(std::move(kernel));
    return absl::OkStatus();
  }

  // True if outputs are read in the frame and iteration in which the node runs, so that they can stay in place.
  static bool OutputsStay(const PlanNode& node) {
    return node.action != NodeAction::kEnter && node.action != NodeAction::kExit &&
           node.action != NodeAction::kNextIteration;
  }

  uint32_t NewSlot(uint32_t frame) { return plan_->frames[frame].num_slots++; }

  void AssignSlots() {
    uint32_t next_input = 0;
    for (PlanNode& node : plan_->nodes) {
      node.first_input = next_input;
      node.num_inputs = node.node->num_inputs();
      node.num_outputs = node.node->num_outputs();
      next_input += node.num_inputs;
      if (!OutputsStay(node) || node.node->IsConstant()) continue;
      node.first_output = plan_->frames[node.frame].num_slots;
      plan_->frames[node.frame].num_slots += node.num_outputs;
    }
    plan_->inputs.assign(next_input, 0);
    edge_slot_.clear();
    for (const Node* node : graph().nodes()) AssignReaders(*node);
    uint32_t first = 0;
    for (PlanFrame& frame : plan_->frames) {
      frame.first_slot = first;
      first += frame.num_slots;
    }
    plan_->slot_is_read.assign(first, 0);
    MarkUnreadOutputs();
  }

  // Gives each reader of `node` its source: a constant, the output's own slot (the last reader), or a separate slot.
  // The reader of the own slot comes last because it may take the value as soon as it is activated.
  void AssignReaders(const Node& node) {
    const uint32_t constant = constant_[node.id()], argument = argument_[node.id()];
    const uint32_t id = plan_id_[node.id()];
    std::vector<const Edge*> last_reader(node.num_outputs(), nullptr);
    for (const Edge* edge : node.out_edges()) {
      if (!edge->is_control()) last_reader[edge->src_output] = edge;
    }
    for (const Edge* edge : node.out_edges()) {
      if (edge->is_control()) continue;
      PlanNode& reader = plan_node(edge->dst);
      InputSource& source = plan_->inputs[reader.first_input + edge->dst_input];
      if (constant != kNone) {
        source = ~static_cast<InputSource>(constant);
        continue;
      }
      const bool stays = argument == kNone && OutputsStay(plan_->nodes[id]);
      if (stays && last_reader[edge->src_output] == edge) {
        source = plan_->nodes[id].first_output + edge->src_output;
        edge_slot_[edge] = PlanEdge::kNoSlot;
      } else {
        source = NewSlot(reader.frame);
        edge_slot_[edge] = source;
        if (argument != kNone) plan_->arguments[argument].slots.push_back(source);
      }
      if (reader.action == NodeAction::kMerge) plan_->frames[reader.frame].merge_slots.push_back(source);
    }
  }

  void MarkUnreadOutputs() {
    for (const PlanNode& node : plan_->nodes) {
      for (uint32_t i = 0; i < node.num_inputs; ++i) {
        const InputSource source = plan_->inputs[node.first_input + i];
        if (source >= 0) plan_->slot_is_read[plan_->frames[node.frame].first_slot + source] = 1;
      }
    }
    for (PlanNode& node : plan_->nodes) {
      if (!OutputsStay(node) || node.node->IsConstant() || argument_[node.node->id()] != kNone) continue;
      for (uint32_t i = 0; i < node.num_outputs; ++i) {
        if (!plan_->slot_is_read[plan_->frames[node.frame].first_slot + node.first_output + i]) {
          node.flags |= PlanNode::kUnreadOutputs;
        }
      }
    }
  }

  void ConnectStraight() {
    plan_->pending.assign(plan_->nodes.size(), 0);
    std::vector<uint32_t> last_writer(plan_->nodes.size(), kNone);
    std::vector<std::vector<uint32_t>> readers(plan_->nodes.size());
    for (uint32_t id = 0; id < plan_->nodes.size(); ++id) {
      PlanNode& node = plan_->nodes[id];
      node.first_copy = plan_->copies.size();
      for (const Edge* edge : node.node->out_edges()) {
        const uint32_t dst = plan_id_[edge->dst->id()];
        if (last_writer[dst] != id) {
          last_writer[dst] = id;
          readers[id].push_back(dst);
          ++plan_->pending[dst];
        }
        if (auto slot = edge_slot_.find(edge);
            slot != edge_slot_.end() && slot->second != PlanEdge::kNoSlot && argument_[node.node->id()] == kNone) {
          plan_->copies.push_back({static_cast<uint32_t>(edge->src_output), slot->second});
        }
      }
      node.num_copies = plan_->copies.size() - node.first_copy;
    }
    for (uint32_t id = 0; id < plan_->nodes.size(); ++id) {
      plan_->nodes[id].first_edge = plan_->successors.size();
      plan_->nodes[id].num_edges = readers[id].size();
      for (uint32_t dst : readers[id]) plan_->successors.push_back(dst * 2 + (plan_->pending[dst] > 1));
    }
    AddRoots([this](uint32_t id) { return plan_->pending[id] == 0; });
  }

  absl::Status CheckFramedLimits() const {
    for (const PlanNode& node : plan_->nodes) {
      if (node.num_outputs > 0xffff || (node.action == NodeAction::kMerge && node.num_inputs >= 0xffff)) {
        return errors::InvalidArgument("Node '", node.node->name(), "' has too many inputs or outputs");
      }
    }
    return absl::OkStatus();
  }

  void ConnectFramed() {
    std::vector<uint32_t> waits(plan_->nodes.size(), 0);
    for (uint32_t id = 0; id < plan_->nodes.size(); ++id) {
      uint32_t data = 0, control = 0;
      for (const Edge* edge : plan_->nodes[id].node->in_edges()) {
        if (Counts(*edge)) ++(edge->is_control() ? control : data);
      }
      waits[id] = data + control;
      const bool is_merge = plan_->nodes[id].action == NodeAction::kMerge;
      plan_->frames[plan_->nodes[id].frame].pending.push_back(is_merge ? 1 + 2 * uint64_t{control} : waits[id]);
    }
    for (PlanNode& node : plan_->nodes) {
      node.first_edge = plan_->edges.size();
      for (const Edge* edge : node.node->out_edges()) {
        if (!edge->is_control()) AddFramedEdge(*edge, waits);
      }
      node.num_copies = plan_->edges.size() - node.first_edge;
      for (const Edge* edge : node.node->out_edges()) {
        if (edge->is_control()) AddFramedEdge(*edge, waits);
      }
      node.num_edges = plan_->edges.size() - node.first_edge;
    }
    AddRoots([&waits](uint32_t id) { return waits[id] == 0; });
  }

  void AddFramedEdge(const Edge& edge, const std::vector<uint32_t>& waits) {
    PlanEdge& added = plan_->edges.emplace_back();
    added.dst = plan_id_[edge.dst->id()];
    added.is_control = edge.is_control();
    added.dst_is_merge = plan_->nodes[added.dst].action == NodeAction::kMerge;
    added.only = waits[added.dst] == 1 && !added.dst_is_merge;
    if (edge.is_control()) return;
    added.output = edge.src_output;
    added.input = edge.dst_input;
    if (auto slot = edge_slot_.find(&edge); slot != edge_slot_.end() && argument_[edge.src->id()] == kNone) {
      added.slot = slot->second;
    }
  }

  // Ready nodes are taken from the back: nodes that wait for others start first.
  template <typename IsRoot>
  void AddRoots(IsRoot is_root) {
    for (const bool async : {false, true}) {
      for (uint32_t id = 0; id < plan_->nodes.size(); ++id) {
        if (is_root(id) && (plan_->nodes[id].action == NodeAction::kAsyncKernel) == async) plan_->roots.push_back(id);
      }
    }
  }

  const Plan::Options& options_;
  std::shared_ptr<Plan> plan_;
  FrameAssignment frames_;
  // By node id.
  std::vector<bool> settled_;
  std::vector<uint32_t> argument_, result_, plan_id_, constant_;
  absl::flat_hash_map<const Edge*, uint32_t> edge_slot_;
};

}  // namespace

std::string ClientTerminalKey(const Node& node) {
  bool client = false;
  if (!(node.IsSend() || node.IsRecv()) || !GetNodeAttr(node.def(), "client_terminated", &client).ok() || !client)
    return "";
  std::string src, dst, name;
  int64_t incarnation = 0;
  if (!GetNodeAttr(node.def(), "send_device", &src).ok() || !GetNodeAttr(node.def(), "recv_device", &dst).ok() ||
      !GetNodeAttr(node.def(), "tensor_name", &name).ok() ||
      !GetNodeAttr(node.def(), "send_device_incarnation", &incarnation).ok()) {
    return "";
  }
  return RendezvousKey::Create(src, static_cast<uint64_t>(incarnation), dst, name, {});
}

Plan::Plan() = default;
Plan::~Plan() = default;

absl::StatusOr<std::shared_ptr<const Plan>> Plan::Compile(std::unique_ptr<Graph> graph, const Options& options) {
  return PlanCompiler(std::move(graph), options).Run();
}

}  // namespace weir
