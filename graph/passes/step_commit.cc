#include "graph/passes/step_commit.h"

#include <optional>
#include <tuple>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "core/op/attr_value.h"
#include "core/rendezvous/rendezvous.h"
#include "core/wire/wire_options.h"
#include "graph/control_flow.h"
#include "graph/function_library.h"
#include "tensorflow/core/framework/function.pb.h"

namespace weir {
namespace {

// The effects of a node and of the functions that it calls, directly or not.
struct Effects {
  bool writes_state = false;
  bool waits = false;  // for other steps, and not as an update
};

class EffectsOf {
 public:
  explicit EffectsOf(const Graph& graph) : graph_(graph) {}

  Effects operator()(const Node& node) {
    Effects effects;
    if (node.registration() != nullptr) Add(*node.registration(), &effects);
    std::vector<std::string> called;
    if (node.registration() == nullptr) called.push_back(node.op());
    for (const auto& [name, attr] : node.def().attr()) {
      if (attr.has_func()) called.push_back(attr.func().name());
      for (const auto& function : attr.list().func()) called.push_back(function.name());
    }
    for (const std::string& function : called) {
      const Effects& inner = OfFunction(function);
      effects.writes_state |= inner.writes_state;
      effects.waits |= inner.waits;
    }
    return effects;
  }

 private:
  static void Add(const OpRegistration& op, Effects* effects) {
    effects->writes_state |= op.writes_state;
    effects->waits |= op.may_block && !op.writes_state;
  }
  const Effects& OfFunction(const std::string& name) {
    const auto [it, is_new] = functions_.try_emplace(name);
    if (!is_new) return it->second;
    const FunctionLibrary called = graph_.functions().ReachableFrom({name});
    for (const std::string& function : called.Names()) {
      for (const tensorflow::NodeDef& inner : called.Find(function)->node_def()) {
        if (const OpRegistration* const op = graph_.ops().Find(inner.op()); op != nullptr) Add(*op, &it->second);
      }
    }
    return it->second;
  }

  const Graph& graph_;
  absl::btree_map<std::string, Effects> functions_;
};

// The nodes of a graph that run before the decision, and those that run after it.
class Sides {
 public:
  static absl::StatusOr<Sides> Of(const Graph& graph, EffectsOf* effects) {
    Sides sides(graph);
    ASSIGN_OR_RETURN(sides.flow_, AnalyzeControlFlow(graph));
    for (const Node* node : graph.nodes()) {
      if (!(*effects)(*node).writes_state) continue;
      sides.updates_.push_back(node);
      sides.is_update_[node->id()] = true;
      sides.Put(*node);
    }
    sides.Spread();
    return sides;
  }

  const std::vector<const Node*>& updates() const { return updates_; }
  // Nodes that were added since are before it, unless AddAfter said otherwise.
  bool IsAfter(const Node& node) const { return node.id() < after_.size() && after_[node.id()]; }
  bool IsUpdate(const Node& node) const { return node.id() < is_update_.size() && is_update_[node.id()]; }
  void AddAfter(const Node& node) {
    after_.resize(node.id() + 1, false);
    after_[node.id()] = true;
  }
  bool IsOutsideOfLoops(const Node& node) const { return flow_.InputFrame(node) == 0; }
  // Whether everything that leaves `node` goes to the other side, or nothing does. In loops: no, for what leaves a loop
  // stands for it.
  bool IsLastBefore(const Node& node) const {
    if (IsAfter(node) || (node.id() < flow_.frame_of.size() && flow_.OutputFrame(node) != 0)) return false;
    for (const Edge* edge : node.out_edges()) {
      if (!IsAfter(*edge->dst)) return false;
    }
    return true;
  }

 private:
  explicit Sides(const Graph& graph)
      : graph_(graph), is_update_(graph.num_node_ids(), false), after_(graph.num_node_ids(), false) {}

  // The outermost loop around the node's outputs; 0: none.
  int LoopOf(const Node& node) const {
    int frame = flow_.frame_of[node.id()];
    while (frame != 0 && flow_.frames[frame].parent != 0) frame = flow_.frames[frame].parent;
    return frame;
  }

  void Put(const Node& node) {
    if (after_[node.id()]) return;
    after_[node.id()] = true;
    open_.push_back(&node);
  }

  // A loop runs on one side as a whole: its iterations wait for each other.
  void Spread() {
    std::vector<std::vector<const Node*>> of_loop(flow_.frames.size());
    for (const Node* node : graph_.nodes()) of_loop[LoopOf(*node)].push_back(node);
    while (!open_.empty()) {
      const Node* const node = open_.back();
      open_.pop_back();
      for (const Edge* edge : node->out_edges()) Put(*edge->dst);
      const int loop = LoopOf(*node);
      if (loop == 0) continue;
      for (const Node* inside : of_loop[loop]) Put(*inside);
      of_loop[loop].clear();
    }
  }

  const Graph& graph_;
  ControlFlowInfo flow_;
  std::vector<const Node*> updates_;
  std::vector<bool> is_update_, after_;
  std::vector<const Node*> open_;
};

// An input without inputs of its own that cannot fail: a constant, or a handle of a variable.
bool IsTrivial(const Node& node) {
  if (!node.in_edges().empty()) return false;
  if (node.IsConstant()) return true;
  for (const DataType type : node.output_types()) {
    if (type != DT_RESOURCE && !IsRefType(type)) return false;
  }
  return node.num_outputs() > 0;
}

class CommitBuilder {
 public:
  CommitBuilder(const StepCommitOptions& options, Sides* sides, Graph* graph)
      : options_(options), sides_(sides), graph_(graph) {}

  absl::Status Build(const std::string& coordinator, const absl::btree_set<std::string>& participants) {
    RETURN_IF_ERROR(FetchInputs());
    RETURN_IF_ERROR(FreeFromOtherTasks());
    const std::vector<Node*> nodes = graph_->nodes();
    const std::string decider = options_.cpu(coordinator);
    std::vector<std::string> keys;
    absl::btree_map<std::string, Node*> gates;
    for (const std::string& task : participants) {
      if (task == coordinator) continue;
      keys.push_back(RendezvousKey::Create(decider, options_.incarnation(decider), options_.cpu(task), "_commit", {}));
      ASSIGN_OR_RETURN(gates[task], Add("_CommitWait", task));
      SetNodeAttr("key", keys.back(), gates[task]->mutable_def());
      SetNodeAttr("coordinator", coordinator, gates[task]->mutable_def());
    }
    ASSIGN_OR_RETURN(Node* const decide, Add("_CommitDecide", coordinator));
    SetNodeAttr("keys", keys, decide->mutable_def());
    gates[coordinator] = decide;
    for (Node* node : nodes) {
      if (sides_->IsLastBefore(*node) && !IsTrivial(*node)) {
        ASSIGN_OR_RETURN(Node* const computed, Computed(options_.task(*node), participants, decide));
        graph_->AddControlEdge(node, computed);
      }
    }
    for (const std::string& task : participants) RETURN_IF_ERROR(Computed(task, participants, decide).status());
    for (Node* node : nodes) {
      const bool enters = node->IsEnter() && sides_->IsAfter(*node) && sides_->IsOutsideOfLoops(*node);
      if (enters) RETURN_IF_ERROR(Gate(gates, node));
    }
    for (const Node* update : sides_->updates()) {
      if (sides_->IsOutsideOfLoops(*update)) RETURN_IF_ERROR(Gate(gates, graph_->node(update->id())));
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Node*> AddOn(const std::string& device, absl::string_view op, std::optional<DataType> type) {
    tensorflow::NodeDef def;
    def.set_name(graph_->UniqueName(absl::StrCat("_commit/", op)));
    def.set_op(std::string(op));
    def.set_device(device);
    if (type) SetNodeAttr("T", *type, &def);
    ASSIGN_OR_RETURN(Node * node, graph_->AddNode(std::move(def)));
    node->set_assigned_device(device);
    return node;
  }
  absl::StatusOr<Node*> Add(absl::string_view op, const std::string& task) {
    return AddOn(options_.cpu(task), op, std::nullopt);
  }

  // Receives the updates' inputs from other tasks before the decision, by an Identity or NoOp on their device:
  // afterwards the sender may be lost.
  absl::Status FetchInputs() {
    std::vector<const Edge*> cut;
    for (const Node* node : graph_->nodes()) {
      if (!sides_->IsAfter(*node)) continue;
      for (const Edge* edge : node->in_edges()) {
        if (!sides_->IsAfter(*edge->src) && options_.task(*edge->src) != options_.task(*node)) cut.push_back(edge);
      }
    }
    absl::btree_map<std::tuple<int, int, std::string, std::string>, Node*> fetched;
    for (const Edge* edge : cut) {
      const std::string& device = edge->dst->assigned_device();
      std::string wire;  // as the update asks for
      if (FindAttr(edge->dst->def(), kWireAttr) != nullptr) {
        RETURN_IF_ERROR(GetNodeAttr(edge->dst->def(), kWireAttr, &wire));
      }
      Node*& holder = fetched[{edge->src->id(), edge->src_output, device, wire}];
      if (edge->is_control()) {
        if (holder == nullptr) {
          ASSIGN_OR_RETURN(holder, AddOn(device, "NoOp", std::nullopt));
          graph_->AddControlEdge(edge->src, holder);
        }
        graph_->AddControlEdge(holder, edge->dst);
        graph_->RemoveEdge(edge);
        continue;
      }
      if (holder == nullptr) {
        ASSIGN_OR_RETURN(holder, AddOn(device, "Identity", edge->src->output_type(edge->src_output)));
        RETURN_IF_ERROR(graph_->AddEdge(edge->src, edge->src_output, holder, 0).status());
        if (!wire.empty()) SetNodeAttr(kWireAttr, wire, holder->mutable_def());
      }
      RETURN_IF_ERROR(graph_->ReplaceInput(edge->dst, edge->dst_input, holder, 0));
    }
    return absl::OkStatus();
  }

  // Drops the order between updates on different tasks (all variables, then the global step): a task that passes it on
  // may be lost between them, and nothing else can tell the order within a step. An update's task may compute something
  // for it in that order as well, such as the constant that is added to the global step.
  absl::Status FreeFromOtherTasks() {
    std::vector<std::pair<const Edge*, Node*>> freed;  // an edge, and what its node waits for instead
    for (const Node* update : sides_->updates()) Follow(*update);
    while (!followed_.empty()) {
      const Node* const node = followed_.back();
      followed_.pop_back();
      const std::string task = options_.task(*node);
      const std::vector<Edge*> in_edges = node->in_edges();
      for (const Edge* edge : in_edges) {
        if (!sides_->IsAfter(*edge->src)) continue;
        const bool is_own = options_.task(*edge->src) == task, is_update = sides_->IsUpdate(*edge->src);
        if (is_own && is_update) continue;
        if (edge->is_control() && IsOrder(*edge->src)) {
          ASSIGN_OR_RETURN(Node* const own, OwnPartOf(edge->src, task));
          freed.emplace_back(edge, own);
        } else if (is_own) {
          Follow(*edge->src);
        }
      }
    }
    for (const auto& [edge, own] : freed) {
      if (own != nullptr) graph_->AddControlEdge(own, edge->dst);
      graph_->RemoveEdge(edge);
    }
    return absl::OkStatus();
  }
  // Frees the node, which precedes an update on its task or is one, from other tasks too.
  void Follow(const Node& node) {
    if (sides_->IsOutsideOfLoops(node) && seen_.insert(node.id()).second) followed_.push_back(&node);
  }
  // Whether a control edge from `node` stands for updates alone: it is one, or a NoOp.
  bool IsOrder(const Node& node) const {
    return sides_->IsUpdate(node) || (node.op() == "NoOp" && node.num_inputs() == 0);
  }
  // A node that runs once everything that `node` waits for, except for updates on other tasks, has run; nullptr if that
  // is nothing.
  absl::StatusOr<Node*> OwnPartOf(Node* node, const std::string& task) {
    const auto [it, is_new] = own_parts_.try_emplace({node->id(), task}, nullptr);
    if (!is_new) return it->second;
    absl::btree_set<int> seen = {node->id()}, awaited;
    std::vector<const Node*> open = {node};
    while (!open.empty()) {
      const Node* const next = open.back();
      open.pop_back();
      const bool is_own = options_.task(*next) == task;
      if (!IsOrder(*next) || (sides_->IsUpdate(*next) && is_own)) {
        awaited.insert(next->id());
        if (is_own) Follow(*next);
        continue;
      }
      for (const Edge* edge : next->in_edges()) {
        if (sides_->IsAfter(*edge->src) && seen.insert(edge->src->id()).second) open.push_back(edge->src);
      }
    }
    if (awaited.size() == 1) it->second = graph_->node(*awaited.begin());
    if (awaited.size() < 2) return it->second;
    ASSIGN_OR_RETURN(Node* const joined, Add("NoOp", task));
    sides_->AddAfter(*joined);
    for (const int id : awaited) graph_->AddControlEdge(graph_->node(id), joined);
    return own_parts_[{node->id(), task}] = joined;
  }

  // The node that runs once the task has computed everything before the decision.
  absl::StatusOr<Node*> Computed(const std::string& task, const absl::btree_set<std::string>& participants,
                                 Node* decide) {
    auto [it, is_new] = computed_.try_emplace(task, nullptr);
    if (!is_new) return it->second;
    ASSIGN_OR_RETURN(it->second, Add("ControlTrigger", task));
    Node* last = it->second;
    if (participants.contains(task) && task != options_.task(*decide)) {
      ASSIGN_OR_RETURN(last, Add("_CommitReady", task));
      graph_->AddControlEdge(it->second, last);
    }
    graph_->AddControlEdge(last, decide);
    return it->second;
  }

  // An Enter may be on a task without updates, for a loop that spans tasks.
  absl::Status Gate(const absl::btree_map<std::string, Node*>& gates, Node* node) {
    const auto own = gates.find(options_.task(*node));
    graph_->AddControlEdge(own != gates.end() ? own->second : gates.begin()->second, node);
    return absl::OkStatus();
  }

  const StepCommitOptions& options_;
  Sides* const sides_;
  Graph* const graph_;
  absl::btree_map<std::string, Node*> computed_;
  absl::btree_map<std::pair<int, std::string>, Node*> own_parts_;  // by node and task
  std::vector<const Node*> followed_;                              // still to be freed from other tasks
  absl::btree_set<int> seen_;                                      // ids of nodes that were in followed_
};

}  // namespace

absl::StatusOr<std::string> AddStepCommit(const StepCommitOptions& options, Graph* graph) {
  bool is_remote = false;
  for (const Node* node : graph->nodes()) is_remote = is_remote || options.task(*node) != options.local_task;
  if (!is_remote) return std::string();
  EffectsOf effects_of(*graph);
  ASSIGN_OR_RETURN(Sides sides, Sides::Of(*graph, &effects_of));
  if (sides.updates().empty()) return std::string();
  bool waits_before = false, waits_after = false;
  for (const Node* node : graph->nodes()) {
    (sides.IsAfter(*node) ? waits_after : waits_before) |= effects_of(*node).waits;
  }
  if (waits_before && waits_after) return std::string();
  absl::btree_map<std::string, int> updates;
  for (const Node* update : sides.updates()) ++updates[options.task(*update)];
  std::string coordinator;
  absl::btree_set<std::string> participants;
  for (const auto& [task, count] : updates) {
    participants.insert(task);
    if (coordinator.empty() || count > updates[coordinator]) coordinator = task;
  }
  RETURN_IF_ERROR(CommitBuilder(options, &sides, graph).Build(coordinator, participants));
  return coordinator;
}

}  // namespace weir
