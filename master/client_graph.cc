#include "master/client_graph.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/threads/blocking_call.h"
#include "graph/collectives.h"
#include "graph/feed_fetch.h"
#include "graph/partition.h"
#include "graph/passes/standby_updates.h"
#include "graph/passes/step_commit.h"
#include "graph/passes/step_commit_sides.h"
#include "graph/placement/groups.h"
#include "graph/state_homes.h"
#include "master/cost_placement.h"
#include "master/graph_preparation.h"

namespace weir {
namespace {

// Both begin as TensorFlow's message does, which programs look for.
constexpr char kPreparedLate[] =
    "Timed out waiting for notification: the step's time limit was over while its graph was prepared. Give the first "
    "step of a large graph more time";
constexpr char kRegisteredLate[] =
    "Timed out waiting for notification: the step's time limit was over before all tasks had its graph";

absl::StatusOr<std::string> TaskOf(absl::string_view device) {
  ASSIGN_OR_RETURN(DeviceName name, DeviceName::ParseFull(device));
  return name.TaskName();
}

absl::Status MoveToHomes(const MovedState* state, Graph* graph) {
  if (state == nullptr || state->empty()) return absl::OkStatus();
  return AssignToHomes([state](const StateKey& key) { return state->HomeOf(key); },
                       [state](const std::string& task) { return state->SuccessorOf(task); }, graph);
}

std::string TaskOfNode(const Node& node) { return TaskOf(node.assigned_device()).value_or(""); }

std::vector<std::string> StandbysOf(const MovedState& state, const std::string& task) {
  std::vector<std::string> standbys;
  for (const Standby& entry : state.StandbysOf(task)) standbys.push_back(entry.standby());
  return standbys;
}

// Whether all that the graph changes are variables and tables, what it takes input from, and what it prints.
bool HasNoOtherEffects(const Graph& graph) {
  EffectsOf effects_of(graph);
  for (const Node* node : graph.nodes()) {
    const bool calls = IsFunctionCall(*node) && node->IsStateful();
    const bool has_effect =
        calls || (node->IsStateful() && node->num_outputs() == 0 && !node->IsSend() && !node->IsRecv());
    if (has_effect && !effects_of(*node).writes_state && node->op() != "Assert" && node->op() != "Print") return false;
  }
  return true;
}

// Returns the coordinator's task; empty: the graph gets no commit.
absl::StatusOr<std::string> AddCommit(const SessionTasks& tasks, const MovedState* state, Graph* graph) {
  const StepCommitOptions options{
      .task = TaskOfNode,
      .cpu = [](const std::string& task) { return absl::StrCat(task, "/device:CPU:0"); },
      .incarnation = [&tasks](absl::string_view device) { return tasks.DeviceIncarnation(device); },
      .local_task = tasks.local_task(),
      .standby_of =
          [state](const std::string& task) {
            const std::vector<std::string> standbys =
                state == nullptr ? std::vector<std::string>() : StandbysOf(*state, task);
            return standbys.empty() ? "" : standbys.front();
          }};
  const absl::flat_hash_set<std::string> able = tasks.TasksWithCommit();
  for (const Node* node : graph->nodes()) {
    if (!able.contains(options.task(*node))) return std::string();
  }
  return AddStepCommit(options, graph);
}

}  // namespace

absl::StatusOr<std::shared_ptr<ClientGraph>> ClientGraph::Build(
    const Options& options, const Signature& signature, const SessionTasks& tasks, std::unique_ptr<Graph> graph,
    const absl::flat_hash_map<std::string, absl::Status>& unplaced) {
  auto client_graph = std::shared_ptr<ClientGraph>(new ClientGraph);
  RETURN_IF_ERROR(MoveToHomes(options.moved_state, graph.get()));  // the whole graph shows what belongs together
  FeedFetchOptions rewrite{
      .feeds = signature.feeds, .targets = signature.targets, .connections = signature.connections};
  std::vector<int> fetch_position;  // of each distinct fetch, in the signature
  absl::flat_hash_map<std::string, int> earlier;
  for (size_t i = 0; i < signature.fetches.size(); ++i) {
    ASSIGN_OR_RETURN(TensorName name, TensorName::Parse(signature.fetches[i]));
    const auto [it, is_new] = earlier.try_emplace(name.ToString(), static_cast<int>(i));
    if (is_new) {
      rewrite.fetches.push_back(name.ToString());
      fetch_position.push_back(static_cast<int>(i));
    } else {
      client_graph->repeated_fetches_.emplace_back(i, it->second);
    }
  }
  rewrite.default_device = tasks.ClientDevice();
  rewrite.incarnation = [&tasks](absl::string_view device) { return tasks.DeviceIncarnation(device); };
  ASSIGN_OR_RETURN(FeedFetchResult ends, RewriteForFeedsAndFetches(rewrite, graph.get()));

  const auto check = [&step = options.step]() -> absl::Status {
    if (step.cancellation != nullptr && step.cancellation->IsCancelled()) return step.cancellation->status();
    if (MonotonicNow() < step.deadline) return absl::OkStatus();
    return absl::DeadlineExceededError(kPreparedLate);
  };
  PreparationOptions preparation{.placement = {.devices = tasks.PlacementOrder(),
                                               .kernels = options.kernels,
                                               .allow_soft_placement = options.allow_soft_placement,
                                               .moved = options.moved},
                                 .graph_options = options.graph_options,
                                 .mixed_precision = options.mixed_precision,
                                 .layout_costs = options.layout_costs,
                                 .fold_on = options.fold_on,
                                 .timers = options.timers,
                                 .check = check,
                                 .kept = signature.targets};
  for (const std::string& fetch : rewrite.fetches) preparation.kept.push_back(fetch);
  // Watched nodes must not be optimised away.
  for (const auto& watch : options.debug_options.debug_tensor_watch_opts()) {
    preparation.graph_options.mutable_rewrite_options()->set_disable_meta_optimizer(true);
    if (graph->FindNode(watch.node_name()) != nullptr) preparation.kept.push_back(watch.node_name());
  }
  for (const auto* nodes : {&ends.feed_nodes, &ends.fetch_nodes}) {
    for (const Node* node : *nodes) preparation.kept.push_back(node->name());
  }
  if (options.cost_placement != nullptr) {
    preparation.place_anew = [&](Graph* placed) {
      return options.cost_placement->PlaceStep(preparation.placement, tasks, check, placed,
                                               &client_graph->is_placed_by_times_);
    };
  }
  RETURN_IF_ERROR(PrepareGraph(preparation, unplaced, graph.get()));
  RETURN_IF_ERROR(MoveToHomes(options.moved_state, graph.get()));  // variables of functions that were inlined
  if (options.moved_state != nullptr) {
    client_graph->is_repeatable_ = HasNoOtherEffects(*graph);
    RETURN_IF_ERROR(client_graph->AddStandbys(*options.moved_state, tasks, graph.get()));
    if (options.reads_standby >= 0 && client_graph->standbys_.empty()) {
      RETURN_IF_ERROR(client_graph->ReadFromStandbys(*options.moved_state, tasks, options.reads_standby, graph.get()));
    }
    absl::flat_hash_set<StateKey> keys;
    for (const Node* node : graph->nodes()) {
      if (std::optional<StateKey> key = StateKeyOf(*node)) keys.insert(*std::move(key));
    }
    client_graph->state_keys_.assign(keys.begin(), keys.end());
    client_graph->state_epoch_ = options.moved_state->epoch();
    client_graph->current_in_epoch_ = options.moved_state->epoch();
  }
  absl::flat_hash_set<absl::string_view> devices;
  for (const Node* node : graph->nodes()) devices.insert(node->assigned_device());
  client_graph->has_transfers_ = devices.size() > 1;
  client_graph->collective_graph_key_ = CollectiveGraphKey(*graph);
  client_graph->session_handle_ = options.session_handle;
  client_graph->num_feeds_ = static_cast<int>(signature.feeds.size());
  client_graph->num_fetches_ = static_cast<int>(signature.fetches.size());

  absl::btree_map<std::string, Part> parts;
  for (size_t i = 0; i < ends.feed_nodes.size(); ++i) {
    ASSIGN_OR_RETURN(std::string task, TaskOf(ends.feed_nodes[i]->assigned_device()));
    parts[task].feeds.push_back(static_cast<int>(i));
  }
  for (size_t i = 0; i < ends.fetch_nodes.size(); ++i) {
    ASSIGN_OR_RETURN(std::string task, TaskOf(ends.fetch_nodes[i]->assigned_device()));
    parts[task].fetches.push_back(fetch_position[i]);
  }
  std::string coordinator;
  if (options.commits && !signature.is_partial) {
    ASSIGN_OR_RETURN(coordinator, AddCommit(tasks, options.moved_state, graph.get()));
  }
  AskForWire(options.wire, graph.get());
  RETURN_IF_ERROR(check());
  PartitionOptions partition;
  partition.knows_wire = [knowing = tasks.TasksWithWireOps()](const std::string& task) {
    return knowing.contains(task);
  };
  partition.wire.compression = options.wire.compression;
  partition.location = [](const Node& node) { return TaskOf(node.assigned_device()).value_or(""); };
  partition.incarnation = [&tasks](absl::string_view device) { return tasks.DeviceIncarnation(device); };
  ASSIGN_OR_RETURN(auto graphs, PartitionGraph(partition, graph.get()));
  for (const auto& [task, part_graph] : graphs) {
    Part part = std::move(parts[task]);
    ASSIGN_OR_RETURN(SessionTasks::Task found, tasks.Find(task));
    part.task = task;
    part.is_local = task == tasks.local_task();
    part.is_coordinator = task == coordinator;
    part.awaits_decision = std::any_of(part_graph.node().begin(), part_graph.node().end(),
                                       [](const auto& node) { return node.op() == "_CommitWait"; });
    part.is_relay = std::any_of(part_graph.node().begin(), part_graph.node().end(),
                                [](const auto& node) { return node.op() == "_CommitRelay"; });
    part.worker = std::move(found.worker);
    part.incarnation = found.incarnation;
    client_graph->parts_.push_back(std::move(part));
  }
  std::stable_partition(client_graph->parts_.begin(), client_graph->parts_.end(),
                        [&](const Part& part) { return part.task != tasks.local_task(); });
  absl::flat_hash_map<int, std::string> fetch_keys;
  for (size_t i = 0; i < fetch_position.size(); ++i) fetch_keys[fetch_position[i]] = ends.fetch_keys[i];
  RETURN_IF_ERROR(check());
  RETURN_IF_ERROR(client_graph->Register(options, std::move(graphs), ends.feed_keys, fetch_keys));
  return client_graph;
}

absl::Status ClientGraph::AddStandbys(const MovedState& state, const SessionTasks& tasks, Graph* graph) {
  EffectsOf effects_of(*graph);
  for (const Node* node : graph->nodes()) {
    if (effects_of(*node).writes_state || ChangesReplicatedState(*node)) standbys_.try_emplace(TaskOfNode(*node));
  }
  for (auto& [task, standbys] : standbys_) {
    standbys = StandbysOf(state, task);
    has_updates_ = true;
    for (const std::string& standby : standbys) {
      if (tasks.Find(standby).ok()) continue;
      return errors::FailedPrecondition("The step has updates on ", task, ", and must make them on ", standby,
                                        ", its standby, which the session does not reach: it does not answer, or the "
                                        "session's device_filters exclude it");
    }
  }
  const auto has_standbys = [](const auto& of_task) { return !of_task.second.empty(); };
  if (std::none_of(standbys_.begin(), standbys_.end(), has_standbys)) return absl::OkStatus();
  return AddStandbyUpdates(
      {.task = TaskOfNode, .standbys_of = [&](const std::string& task) { return StandbysOf(state, task); }}, graph);
}

absl::Status ClientGraph::ReadFromStandbys(const MovedState& state, const SessionTasks& tasks, int64_t number,
                                           Graph* graph) {
  const auto standby_of = [&](const std::string& task) -> std::string {
    const std::vector<std::string> standbys = StandbysOf(state, task);
    standbys_[task] = standbys;  // the graph is built again when they change
    if (standbys.empty()) return "";
    const std::string& chosen = standbys[number % standbys.size()];
    return tasks.Find(chosen).ok() ? chosen : "";
  };
  return AssignToStandbys(standby_of, graph);
}

absl::Status ClientGraph::Register(const Options& options, absl::btree_map<std::string, tensorflow::GraphDef> graphs,
                                   const std::vector<std::string>& feed_keys,
                                   const absl::flat_hash_map<int, std::string>& fetch_keys) {
  const CallOptions call{.deadline = std::min(MonotonicNow() + options.call_timeout, options.step.deadline),
                         .cancellation = options.step.cancellation};
  std::vector<Awaited<absl::StatusOr<std::string>>> registered(parts_.size());
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    auto args = std::make_shared<RegisterGraphArgs>();
    args->request.set_session_handle(session_handle_);
    args->request.set_create_worker_session_called(true);
    args->request.mutable_graph_def()->Swap(&graphs[part.task]);
    *args->request.mutable_graph_options() = options.graph_options;
    *args->request.mutable_debug_options() = options.debug_options;
    args->request.set_collective_graph_key(collective_graph_key_);
    if (!options.collective_leader.empty()) {
      args->request.mutable_config_proto()->mutable_experimental()->set_collective_group_leader(
          options.collective_leader);
    }
    for (int feed : part.feeds) args->feed_keys.push_back(feed_keys[feed]);
    for (int fetch : part.fetches) args->fetch_keys.push_back(fetch_keys.at(fetch));
    part.worker->RegisterGraphAsync(call, std::move(args),
                                    [awaited = &registered[i]](auto handle) { awaited->Set(std::move(handle)); });
  }
  absl::Status first_error;
  for (size_t i = 0; i < parts_.size(); ++i) {
    auto handle = registered[i].Take();
    if (handle.ok()) {
      parts_[i].graph_handle = *std::move(handle);
    } else if (first_error.ok()) {
      first_error = handle.status();
    }
  }
  const bool is_late = absl::IsDeadlineExceeded(first_error) && call.deadline == options.step.deadline;
  return is_late ? Annotate(std::move(first_error), kRegisteredLate) : first_error;
}

bool ClientGraph::IsCurrent(const MovedState& state) const {
  if (current_in_epoch_.load(std::memory_order_relaxed) == state.epoch()) return true;
  for (const StateKey& key : state_keys_) {
    if (state.EpochOf(key) > state_epoch_) return false;
  }
  for (const Part& part : parts_) {
    // A task with a successor can stand by for that.
    if (!state.SuccessorOf(part.task).empty() && !HasStandby(part.task)) return false;
  }
  for (const auto& [task, standbys] : standbys_) {
    if (StandbysOf(state, task) != standbys) return false;
  }
  current_in_epoch_.store(state.epoch(), std::memory_order_relaxed);
  return true;
}

bool ClientGraph::UsesMoving(const MovedState& state) const {
  if (state.move_epoch() == 0) return false;
  if (!state.copied_task().empty()) return standbys_.contains(state.copied_task());
  return std::any_of(state_keys_.begin(), state_keys_.end(), [&](const StateKey& key) { return state.IsMoving(key); });
}

bool ClientGraph::HasStandby(const std::string& task) const {
  for (const auto& [primary, standbys] : standbys_) {
    const bool stands_by = std::find(standbys.begin(), standbys.end(), task) != standbys.end();
    if (stands_by || (primary == task && !standbys.empty())) return true;
  }
  return false;
}

std::string ClientGraph::LostTask(const MovedState& state) const {
  for (const auto& [task, standbys] : standbys_) {
    for (const std::string& standby : standbys) {
      if (state.StandsBy(standby, task)) continue;
      return state.SuccessorOf(task).empty() ? standby : task;
    }
  }
  for (const Part& part : parts_) {
    if (state.IsLost(part.task) && !HasStandby(part.task)) return part.task;
  }
  return "";
}

bool ClientGraph::UsesStandbys(const MovedState& state) const {
  return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) {
    return HasStandby(part.task) || state.HasStandbyRelation(part.task) || state.IsLost(part.task);
  });
}

const ClientGraph::Part* ClientGraph::relay() const {
  for (const Part& part : parts_) {
    if (part.is_relay) return &part;
  }
  return nullptr;
}

const ClientGraph::Part* ClientGraph::coordinator() const {
  for (const Part& part : parts_) {
    if (part.is_coordinator) return &part;
  }
  return nullptr;
}

ClientGraph::~ClientGraph() {
  const CallOptions call{.deadline = MonotonicNow() + absl::Seconds(5)};
  for (const Part& part : parts_) {
    if (part.graph_handle.empty()) continue;
    struct Call {
      tensorflow::DeregisterGraphRequest request;
      tensorflow::DeregisterGraphResponse response;
      std::shared_ptr<WorkerInterface> worker;
    };
    auto pending = std::make_shared<Call>();
    pending->worker = part.worker;
    pending->request.set_session_handle(session_handle_);
    pending->request.set_create_worker_session_called(true);
    pending->request.set_graph_handle(part.graph_handle);
    // A restarted task, or one whose session has ended, has already forgotten the graph.
    part.worker->DeregisterGraphAsync(call, &pending->request, &pending->response,
                                      [pending](const absl::Status& status) {});
  }
}

}  // namespace weir
