#include "graph/passes/step_commit.h"

#include <optional>
#include <tuple>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "core/op/attr_value.h"
#include "core/rendezvous/rendezvous.h"
#include "core/wire/wire_options.h"
#include "graph/passes/step_commit_sides.h"
#include "graph/passes/update_order.h"

namespace weir {
namespace {

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

  // `relay` passes the coordinator's decision on; empty: the coordinator sends it to all.
  absl::Status Build(const std::string& coordinator, const std::string& relay,
                     const absl::btree_set<std::string>& participants) {
    RETURN_IF_ERROR(FetchInputs());
    UpdateOrder order(options_, sides_, graph_);
    RETURN_IF_ERROR(order.FreeFromOtherTasks());
    const std::vector<Node*> nodes = graph_->nodes();
    std::vector<std::string> keys, relayed_keys;
    absl::btree_map<std::string, Node*> gates;
    for (const std::string& task : participants) {
      if (task == coordinator) continue;
      const bool is_relayed = !relay.empty() && task != relay;
      const std::string& source = is_relayed ? relay : coordinator;
      const std::string sender = options_.cpu(source);
      const std::string key =
          RendezvousKey::Create(sender, options_.incarnation(sender), options_.cpu(task), "_commit", {});
      (is_relayed ? relayed_keys : keys).push_back(key);
      ASSIGN_OR_RETURN(gates[task], Add("_CommitWait", task));
      tensorflow::NodeDef* const wait = gates[task]->mutable_def();
      SetNodeAttr("key", key, wait);
      SetNodeAttr("coordinator", source, wait);
      if (!is_relayed) continue;
      SetNodeAttr("decider", coordinator, wait);
      SetNodeAttr("decider_incarnation", static_cast<int64_t>(options_.incarnation(options_.cpu(coordinator))), wait);
    }
    ASSIGN_OR_RETURN(Node* const decide, Add("_CommitDecide", coordinator));
    SetNodeAttr("keys", keys, decide->mutable_def());
    gates[coordinator] = decide;
    if (!relay.empty()) {
      ASSIGN_OR_RETURN(Node* const pass_on, Add("_CommitRelay", relay));
      SetNodeAttr("keys", relayed_keys, pass_on->mutable_def());
      graph_->AddControlEdge(gates.at(relay), pass_on);
    }
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
    // Without the updates that they waited for, they could run before the decision: an op that closes a queue, say.
    for (const int id : order.freed_nodes()) RETURN_IF_ERROR(Gate(gates, graph_->node(id)));
    for (const Node* update : sides_->updates()) {
      if (sides_->IsOutsideOfLoops(*update)) RETURN_IF_ERROR(Gate(gates, graph_->node(update->id())));
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Node*> AddOn(const std::string& device, absl::string_view op, std::optional<DataType> type) {
    return AddCommitNode(op, device, type, graph_);
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
  std::string coordinator, relay;
  absl::btree_set<std::string> participants;
  for (const auto& [task, count] : updates) {
    participants.insert(task);
    if (coordinator.empty() || count > updates[coordinator]) coordinator = task;
    const bool has_standby = options.standby_of && updates.contains(options.standby_of(task));
    if (has_standby && (relay.empty() || count > updates[relay])) relay = task;
  }
  if (!relay.empty()) coordinator = options.standby_of(relay);
  RETURN_IF_ERROR(CommitBuilder(options, &sides, graph).Build(coordinator, relay, participants));
  return coordinator;
}

}  // namespace weir
