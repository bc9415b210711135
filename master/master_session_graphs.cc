// A master's session: its graph, and what its tasks registered of it.
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/logging.h"
#include "distribute/transport/lost_graph.h"
#include "graph/graph_import.h"
#include "graph/passes/custom_optimizers.h"
#include "graph/passes/step_commit.h"
#include "graph/placer.h"
#include "graph/state_homes.h"
#include "master/cost_placement.h"
#include "master/journal/session_journal.h"
#include "master/master_session.h"
#include "master/step_options.h"

namespace weir {
namespace {

// Between questions to tasks that have joined the cluster and do not answer.
constexpr absl::Duration kMissingPause = absl::Seconds(10);

// True if the task or its state has changed: ask the cluster again before the next step.
bool SuggestsTaskLoss(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) || absl::IsNotFound(status);
}

absl::StatusOr<WireOptions> WireOfSession(const tensorflow::RPCOptions& options) {
  const std::string& algorithm = options.compression_algorithm();
  // Valid in TensorFlow, for gRPC messages; Weir compresses tensors instead.
  if (algorithm == "deflate" || algorithm == "gzip") return WireOptions();
  absl::StatusOr<WireOptions> wire = WireOptions::Parse(algorithm);
  if (!wire.ok()) return Annotate(wire.status(), "ConfigProto.rpc_options.compression_algorithm");
  return wire;
}

}  // namespace

absl::Status MasterSession::Create(const CallOptions& call, const tensorflow::GraphDef& graph) {
  RETURN_IF_ERROR(WireOfSession(options_.config.rpc_options()).status());
  ASSIGN_OR_RETURN(const bool uncommitted, AsksForCustomOptimizer(options_.config.graph_options().rewrite_options(),
                                                                  kUncommittedStepsOptimizer));
  commits_ = !uncommitted;
  ASSIGN_OR_RETURN(moves_state_,
                   AsksForCustomOptimizer(options_.config.graph_options().rewrite_options(), kMovesStateOptimizer));
  ASSIGN_OR_RETURN(reads_standbys_,
                   AsksForCustomOptimizer(options_.config.graph_options().rewrite_options(), kReadsStandbysOptimizer));
  ASSIGN_OR_RETURN(cost_placement_, SessionCostPlacement::FromConfig(options_.config));
  const int64_t cluster_version = tasks_.cluster_version();
  if (moves_state_) tasks_.UseReplacedTasks();
  RETURN_IF_ERROR(tasks_.Connect(call));
  cluster_version_ = cluster_version;
  if (cost_placement_ != nullptr) RETURN_IF_ERROR(cost_placement_->CheckDevices(tasks_));
  ASSIGN_OR_RETURN(std::shared_ptr<const PlacedGraph> placed, Extended(std::make_unique<Graph>(options_.ops), graph));
  MutexLock lock(mu_);
  placed_ = std::move(placed);
  return absl::OkStatus();
}

absl::Status MasterSession::Restore(const CallOptions& call, const RecordedSession& recorded) {
  RETURN_IF_ERROR(Create(call, recorded.request.graph_def()));
  for (const tensorflow::GraphDef& extension : recorded.extensions) {
    MutexLock lock(mu_);
    ASSIGN_OR_RETURN(placed_, Extended(placed_->graph->Clone(), extension));
    ++graph_version_;
  }
  MutexLock lock(mu_);
  for (const auto& [handle, options] : recorded.callables) callables_.emplace(handle, NewCallable(options));
  return absl::OkStatus();
}

void MasterSession::Moved(const Node& node, absl::string_view asked, const DeviceName& chosen) {
  {
    MutexLock lock(moved_mu_);
    if (!moved_ops_.insert(absl::StrCat(node.op(), " ", asked)).second) return;
  }
  WEIR_LOG(INFO).With("session", options_.handle)
      << "soft placement: " << node.op() << " has no kernel for " << asked << " here; node '" << node.name()
      << "', the first of them, goes to " << chosen.ToString();
}

absl::StatusOr<std::shared_ptr<const MasterSession::PlacedGraph>> MasterSession::Extended(
    std::unique_ptr<Graph> graph, const tensorflow::GraphDef& nodes) {
  RETURN_IF_ERROR(ImportGraphDef({.from_any_producer = true}, nodes, graph.get()));
  PlacerOptions placement{.devices = tasks_.PlacementOrder(),
                          .kernels = options_.kernels,
                          .allow_soft_placement = options_.config.allow_soft_placement(),
                          .moved = [this](const Node& node, absl::string_view asked, const DeviceName& chosen) {
                            Moved(node, asked, chosen);
                          }};
  auto placed = std::make_shared<PlacedGraph>();
  if (cost_placement_ != nullptr) {
    ASSIGN_OR_RETURN(placed->unplaced, cost_placement_->PlaceSession(placement, tasks_, graph.get()));
  } else {
    placed->unplaced = PlaceGraph(placement, graph.get());
  }
  placed->graph = std::move(graph);
  return placed;
}

absl::Status MasterSession::Extend(const tensorflow::ExtendSessionRequest& request,
                                   tensorflow::ExtendSessionResponse* response) {
  MutexLock one_at_a_time(extend_mu_);
  std::shared_ptr<const PlacedGraph> placed;
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(CheckOpen());
    if (request.current_graph_version() != graph_version_) {
      return errors::Aborted("Current version is ", graph_version_, " but caller expected ",
                             request.current_graph_version(), ".");
    }
    placed = placed_;
  }
  // Without the lock: steps go on meanwhile.
  ASSIGN_OR_RETURN(std::shared_ptr<const PlacedGraph> extended, Extended(placed->graph->Clone(), request.graph_def()));
  if (options_.journal != nullptr) {
    RETURN_IF_ERROR(
        options_.journal->AddExtension(options_.handle, request.current_graph_version(), request.graph_def()));
  }
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckOpen());
  std::swap(placed_, extended);
  response->set_new_graph_version(++graph_version_);
  return absl::OkStatus();
}

int64_t MasterSession::graph_version() const {
  MutexLock lock(mu_);
  return graph_version_;
}

absl::Status MasterSession::RefreshIfNeeded() {
  if (tasks_.cluster_version() != cluster_version_.load(std::memory_order_relaxed)) RETURN_IF_ERROR(FollowCluster());
  if (!needs_refresh_.load(std::memory_order_relaxed) || !needs_refresh_.exchange(false)) return absl::OkStatus();
  bool changed = false;
  const bool reopen = lost_by_worker_.exchange(false);
  absl::Status status = tasks_.Refresh(&changed, reopen, options_.metrics);
  if (!status.ok()) {
    if (reopen) lost_by_worker_ = true;
    needs_refresh_ = true;
  }
  if (changed) ForgetGraphs();
  return status;
}

absl::Status MasterSession::FollowCluster() {
  MutexLock one_at_a_time(extend_mu_);
  const int64_t version = tasks_.cluster_version();
  const absl::Time now = MonotonicNow();
  if (version == cluster_version_ || now < next_follow_) return absl::OkStatus();
  SessionTasks::Changes changes;
  RETURN_IF_ERROR(tasks_.FollowCluster(&changes));
  if (changes.left || changes.replaced) ForgetGraphs();
  places_again_ = places_again_ || changes.joined;
  if (places_again_) RETURN_IF_ERROR(PlaceAgain());
  places_again_ = false;
  // Steps ask a missing task again after each pause, until it answers or is removed.
  next_follow_ = changes.missing ? MonotonicNow() + kMissingPause : absl::InfinitePast();
  if (!changes.missing) cluster_version_ = version;
  return absl::OkStatus();
}

absl::Status MasterSession::PlaceAgain() {
  std::shared_ptr<const PlacedGraph> placed;
  {
    MutexLock lock(mu_);
    placed = placed_;
  }
  if (placed == nullptr || placed->unplaced.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(placed, Extended(placed->graph->Clone(), tensorflow::GraphDef()));
  MutexLock lock(mu_);
  std::swap(placed_, placed);
  return absl::OkStatus();
}

void MasterSession::ForgetGraphs() {
  used_tasks_->ForgetRestarted(tasks_);
  absl::flat_hash_map<Signature, std::shared_ptr<ClientGraph>> stale;
  MutexLock lock(mu_);
  ++epoch_;
  client_graphs_.swap(stale);
  for (const auto& [signature, graph] : stale) {
    for (const StateKey& key : graph->state_keys()) earlier_steps_[key] += graph->num_steps();
  }
}

void MasterSession::NoteTaskLoss(const absl::Status& status) {
  if (IsWorkerSessionLost(status)) lost_by_worker_ = true;
  if (SuggestsTaskLoss(status)) needs_refresh_ = true;
}

void MasterSession::Forget(const ClientGraph& graph) {
  std::vector<std::shared_ptr<ClientGraph>> forgotten;  // destroyed after unlocking, because that calls workers
  MutexLock lock(mu_);
  for (auto it = client_graphs_.begin(); it != client_graphs_.end();) {
    const auto current = it++;
    if (current->second.get() != &graph) continue;
    forgotten.push_back(std::move(current->second));
    client_graphs_.erase(current);
  }
  for (auto& [handle, callable] : callables_) {
    if (callable->graph.get() == &graph) forgotten.push_back(std::exchange(callable->graph, nullptr));
  }
  if (forgotten.empty()) return;
  for (const StateKey& key : graph.state_keys()) earlier_steps_[key] += graph.num_steps();
}

absl::StatusOr<std::shared_ptr<ClientGraph>> MasterSession::GetClientGraph(const CallOptions& call,
                                                                           const tensorflow::RunOptions& run_options,
                                                                           const Signature& signature) {
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(CheckOpen());
    auto it = client_graphs_.find(signature);
    if (it != client_graphs_.end()) return it->second;
  }
  int64_t epoch;
  ASSIGN_OR_RETURN(auto built, BuildClientGraph(call, run_options, signature, &epoch));
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckOpen());
  if (epoch != epoch_) return built;  // a task changed meanwhile: this step fails, the next one rebuilds
  return client_graphs_.try_emplace(signature, built).first->second;
}

void MasterSession::LearnCosts(const ClientGraph& graph, const tensorflow::RunMetadata& metadata) {
  if (cost_placement_->Record(metadata) && !graph.is_placed_by_times()) Forget(graph);
}

void MasterSession::CountGraph(int64_t epoch) const {
  if (options_.metrics == nullptr) return;
  options_.metrics->graphs_built.Add();
  if (epoch > 0) options_.metrics->graphs_rebuilt.Add();
}

// Without the lock, because it waits for tasks. If two steps build the same signature at once, both succeed and one
// result is kept.
absl::StatusOr<std::shared_ptr<ClientGraph>> MasterSession::BuildClientGraph(const CallOptions& call,
                                                                             const tensorflow::RunOptions& run_options,
                                                                             const Signature& signature,
                                                                             int64_t* epoch) {
  std::shared_ptr<const PlacedGraph> placed;
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(CheckOpen());
    placed = placed_;
    *epoch = epoch_;
  }
  const auto moved = MovedVariables();
  ClientGraph::Options options{
      .cost_placement = cost_placement_.get(),
      .session_handle = options_.handle,
      .graph_options = options_.config.graph_options(),
      .debug_options = run_options.debug_options(),
      .kernels = options_.kernels,
      .mixed_precision = options_.mixed_precision,
      .layout_costs = options_.layout_costs,
      .allow_soft_placement = options_.config.allow_soft_placement(),
      .moved = [this](const Node& node, absl::string_view asked,
                      const DeviceName& chosen) { Moved(node, asked, chosen); },
      .timers = options_.timers,
      .fold_on = options_.fold_on,
      .step = {.deadline = StepDeadline(call, run_options, options_.config), .cancellation = call.cancellation},
      .collective_leader = options_.config.experimental().collective_group_leader(),
      .commits = commits_ && !options_.tasks.cluster,
      .moved_state = moved == nullptr ? nullptr : &moved->state,
      .reads_standby = reads_standbys_ ? options_.number : -1,
      .wire = WireOfSession(options_.config.rpc_options()).value()};
  auto built = ClientGraph::Build(options, signature, tasks_, placed->graph->Clone(), placed->unplaced);
  if (built.ok()) {
    used_tasks_->Add(**built);
    CountGraph(*epoch);
    return built;
  }
  NoteTaskLoss(built.status());
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckOpen());  // closed meanwhile: the session has left its tasks
  return built;
}

}  // namespace weir
