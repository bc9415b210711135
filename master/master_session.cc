#include "master/master_session.h"

#include <algorithm>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/kernel/debug_publisher.h"
#include "core/random_bits.h"
#include "core/threads/blocking_call.h"
#include "distribute/collective/task/task_collectives.h"
#include "distribute/transport/lost_graph.h"
#include "graph/debug_watches.h"
#include "master/cost_placement.h"
#include "master/fail_over.h"
#include "master/journal/session_journal.h"
#include "master/step_options.h"
#include "master/wait_survey.h"

namespace weir {
namespace {

// For the leader's answer, which does not wait for other tasks.
constexpr absl::Duration kSequencePatience = absl::Seconds(30);
// While a step is prepared.
constexpr int kMostMoves = 100;
// Longer than the registrar takes to find out that a task hangs.
constexpr absl::Duration kFailOverPatience = absl::Seconds(10);
// Callables of later masters have other handles, even if not all were recorded.
constexpr int kCallablesOfAnEpochBits = 32;

// Step ids are unique in the cluster with overwhelming probability: 55 random bits, then counted up. The set bit 56
// keeps them positive and away from the small ids of tests.
int64_t FirstStepId() { return static_cast<int64_t>((RandomBits() & ((uint64_t{1} << 55) - 1)) | (uint64_t{1} << 56)); }

std::vector<std::string> ToVector(const google::protobuf::RepeatedPtrField<std::string>& field) {
  return {field.begin(), field.end()};
}

// Distinguishes the graphs of watched steps.
std::string WatchesOf(tensorflow::DebugOptions options) {
  options.clear_global_step();
  return options.SerializeAsString();
}

absl::Status SessionIsClosed() { return errors::FailedPrecondition("Session is closed."); }

}  // namespace

MasterSession::MasterSession(Options options)
    : options_(std::move(options)),
      created_(MonotonicNow()),
      tasks_(options_.tasks),
      next_step_id_(FirstStepId()),
      next_callable_(options_.journal == nullptr ? 0 : options_.journal->epoch() << kCallablesOfAnEpochBits) {}

MasterSession::~MasterSession() { Close().IgnoreError(); }

absl::Status MasterSession::CheckOpen() const { return closed_ ? SessionIsClosed() : absl::OkStatus(); }

absl::Status MasterSession::PublishWatchedStep(const Signature& signature,
                                               const tensorflow::DebugOptions& debug_options) {
  DebugStep step{.global_step = debug_options.global_step(),
                 .inputs = signature.feeds,
                 .outputs = signature.fetches,
                 .targets = signature.targets};
  {
    MutexLock lock(mu_);
    step.run_index = watched_steps_++;
    step.executor_index = watched_steps_of_[signature]++;
  }
  return PublishDebugStep(*FileSystemRegistry::Default(), WatchUrls(debug_options), step);
}

// If other masters' graphs share this graph's collectives, the same id as their steps get.
absl::StatusOr<int64_t> MasterSession::NewStepId(const CallOptions& call, const tensorflow::RunOptions& options,
                                                 const ClientGraph& graph) {
  const int64_t own_key = graph.collective_graph_key();
  StepSequences* const sequences = options_.step_sequences;
  if (own_key == 0 || sequences == nullptr) return next_step_id_.fetch_add(1, std::memory_order_relaxed);
  const int64_t wanted_key = options.experimental().collective_graph_key();
  const int64_t key = wanted_key != 0 ? wanted_key : own_key;
  if (const std::optional<int64_t> step_id = sequences->Take(key)) return *step_id;
  tensorflow::GetStepSequenceRequest request;
  tensorflow::GetStepSequenceResponse response;
  request.add_graph_key(key);
  std::string leader = options_.config.experimental().collective_group_leader();
  if (leader.empty()) leader = DefaultCollectiveLeader(options_.tasks.workers->Tasks());
  if (leader == options_.tasks.local_task) {
    sequences->Lead(key);
  } else {
    ASSIGN_OR_RETURN(const std::shared_ptr<WorkerInterface> worker, options_.tasks.workers->Get(leader));
    CallOptions bounded = call;
    bounded.deadline = std::min(call.deadline, MonotonicNow() + kSequencePatience);
    RETURN_IF_ERROR(Await([&](auto done) { worker->GetStepSequenceAsync(bounded, &request, &response, done); }));
    sequences->Learn(response);
  }
  if (const std::optional<int64_t> step_id = sequences->Take(key)) return *step_id;
  return errors::Internal("Collective leader ", leader, " knows no steps of graph key ", key);
}

absl::StatusOr<std::shared_ptr<Step>> MasterSession::NewStep(const CallOptions& call,
                                                             const tensorflow::RunOptions& options,
                                                             const GraphSource& graph, StepTracer* tracer) {
  CallOptions bounded = call;  // the step's time includes that for which it waits
  bounded.deadline = StepDeadline(call, options, options_.config);
  for (int attempt = 0; attempt < kMostMoves; ++attempt) {
    ASSIGN_OR_RETURN(std::shared_ptr<ClientGraph> current, graph());
    ASSIGN_OR_RETURN(const bool is_current, AwaitMove(call, options, *current));
    if (is_current) {
      ASSIGN_OR_RETURN(std::shared_ptr<Step> step, TryNewStep(attempt == 0 ? call : bounded, options, current, tracer));
      if (step != nullptr) return step;
    }
    Forget(*current);
  }
  return errors::Unavailable("The step was prepared ", kMostMoves, " times, and its variables moved each time");
}

absl::StatusOr<std::shared_ptr<Step>> MasterSession::TryNewStep(const CallOptions& call,
                                                                const tensorflow::RunOptions& options,
                                                                std::shared_ptr<ClientGraph> graph,
                                                                StepTracer* tracer) {
  if (options.output_partition_graphs() && options_.config.experimental().disable_output_partition_graphs()) {
    return errors::InvalidArgument("RunOptions.output_partition_graphs is not for a session with ",
                                   "ConfigProto.experimental.disable_output_partition_graphs");
  }
  if (tasks_.has_unsettled()) {
    std::vector<std::string> used;
    for (const ClientGraph::Part& part : graph->parts()) used.push_back(part.task);
    absl::Status settled = tasks_.EndUnsettledSteps(used);
    NoteTaskLoss(settled);
    RETURN_IF_ERROR(settled);
  }
  ASSIGN_OR_RETURN(const int64_t step_id, NewStepId(call, options, *graph));
  Step::Options step_options{.session_handle = options_.handle,
                             .step_id = step_id,
                             .deadline = StepDeadline(call, options, options_.config),
                             .exec_opts = ExecutorOptions(options, options_.config.graph_options(), graph->CountStep()),
                             .timers = options_.timers,
                             .ended = ended_steps_,
                             .used = used_tasks_,
                             .poller = options_.poller};
  if (tracer != nullptr && tracer->is_on()) {
    step_options.recording = tracer->Begin(step_id, options_.handle, step_options.exec_opts.record_timeline());
    if (step_options.recording != nullptr) step_options.exec_opts.set_record_timeline(true);
  }
  auto step = std::make_shared<Step>(std::move(step_options), std::move(graph));
  bool is_closing;
  {
    MutexLock lock(steps_mu_);
    is_closing = closing_;
    // With the lock: HoldMove finds this step, or this step sees the move.
    const auto moved = tasks_.cluster_version() == 0 ? nullptr : MovedVariables();
    const ClientGraph& used = step->graph();
    if (!closing_ && (moved == nullptr || (used.IsCurrent(moved->state) && !used.UsesMoving(moved->state)))) {
      ++steps_started_;
      steps_.emplace(step->step_id(), step);
      return step;
    }
  }
  Ended(*step, is_closing ? SessionIsClosed() : absl::CancelledError("The step's variables are moving"));
  if (is_closing) return SessionIsClosed();
  return nullptr;
}

void MasterSession::Ended(const Step& step, const absl::Status& status) {
  if (step.recording() != nullptr) options_.tracer->End(*step.recording(), status);
  NoteTaskLoss(status);
  if (!step.is_settled()) {
    std::vector<std::string> tasks;
    for (const ClientGraph::Part& part : step.graph().parts()) tasks.push_back(part.task);
    tasks_.AddUnsettledStep(step.step_id(), tasks);
    needs_refresh_ = true;
  }
  if (IsGraphLost(status)) Forget(step.graph());
  if (options_.step_sequences != nullptr) options_.step_sequences->End(step.step_id(), status.ok());
  MutexLock lock(steps_mu_);
  steps_.erase(step.step_id());
  step_ended_.notify_all();
}

absl::StatusOr<RunStepResult> MasterSession::RunStep(const CallOptions& call, Step& step, std::vector<Tensor> feeds) {
  auto result = step.Run(std::move(feeds), call.cancellation);
  Ended(step, result.status());
  if (cost_placement_ != nullptr && result.ok()) LearnCosts(step.graph(), result->metadata);
  return result;
}

absl::StatusOr<RunStepResult> MasterSession::RunWhole(const CallOptions& call, const tensorflow::RunOptions& options,
                                                      const GraphSource& graph, std::vector<Tensor> feeds) {
  const absl::Time deadline = StepDeadline(call, options, options_.config);
  absl::Time gives_up = absl::InfiniteFuture();  // set by the first failure that is to be survived
  CallOptions bounded = call;
  while (true) {
    const int64_t known_standbys = StandbyEpoch();
    absl::StatusOr<std::shared_ptr<Step>> step = NewStep(bounded, options, graph, options_.tracer);
    const bool may_repeat = known_standbys != 0 && (!step.ok() || UsesStandbys((*step)->graph()));
    absl::StatusOr<RunStepResult> result = step.ok()
                                               ? RunStep(call, **step, may_repeat ? feeds : std::exchange(feeds, {}))
                                               : absl::StatusOr<RunStepResult>(step.status());
    if (result.ok() || !may_repeat || StandbyEpoch() == 0 || !MayFailOver(result.status(), *options_.tasks.membership))
      return result;
    bounded.deadline = deadline;
    gives_up = std::min({gives_up, deadline, MonotonicNow() + kFailOverPatience});
    const ClusterMembership& membership = *options_.tasks.membership;
    if (!AwaitFailOver(result.status(), known_standbys, membership, gives_up, call.cancellation)) return result;
    if (step.ok() && !IsToRunAgain(call, gives_up, **step, &result)) return result;
    RETURN_IF_ERROR(RefreshIfNeeded());
    if (MonotonicNow() > gives_up) return result;
  }
}

absl::StatusOr<RunStepResult> MasterSession::Run(const CallOptions& call, const RunStepArgs& args) {
  if (!args.partial_run_handle.empty()) return RunPartial(call, args);
  RETURN_IF_ERROR(RefreshIfNeeded());
  Signature signature{.fetches = args.fetches, .targets = args.targets};
  std::vector<Tensor> feeds;
  signature.feeds.reserve(args.feeds.size());
  feeds.reserve(args.feeds.size());
  for (const auto& [name, tensor] : args.feeds) {
    signature.feeds.push_back(name);
    feeds.push_back(tensor);
  }
  const tensorflow::DebugOptions& debug_options = args.options.debug_options();
  if (!debug_options.debug_tensor_watch_opts().empty()) {
    signature.watches = WatchesOf(debug_options);
    RETURN_IF_ERROR(PublishWatchedStep(signature, debug_options));
  }
  const auto graph = [&] { return GetClientGraph(call, args.options, signature); };
  return RunWhole(call, args.options, graph, std::move(feeds));
}

absl::Status MasterSession::PartialRunSetup(const CallOptions& call, const tensorflow::PartialRunSetupRequest& request,
                                            tensorflow::PartialRunSetupResponse* response) {
  RETURN_IF_ERROR(RefreshIfNeeded());
  Signature signature{.feeds = ToVector(request.feed()),
                      .fetches = ToVector(request.fetch()),
                      .targets = ToVector(request.target()),
                      .is_partial = true};
  const auto graph = [&] { return GetClientGraph(call, {}, signature); };
  ASSIGN_OR_RETURN(const std::shared_ptr<Step> step,
                   NewStep(CallOptions(), tensorflow::RunOptions(), graph, /*tracer=*/nullptr));
  const std::string handle = absl::StrCat("partial_run;", step->step_id());
  absl::Status open;
  {
    MutexLock lock(mu_);
    open = CheckOpen();
    if (open.ok())
      partial_runs_.emplace(handle, std::make_unique<ClientPartialRun>(step, std::move(signature), *placed_->graph));
  }
  if (!open.ok()) {
    Ended(*step, open);  // Close waits for that
    return open;
  }
  response->set_partial_run_handle(handle);
  return absl::OkStatus();
}

absl::StatusOr<ClientPartialRun::Piece> MasterSession::TakePiece(const RunStepArgs& args) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckOpen());
  const auto it = partial_runs_.find(args.partial_run_handle);
  if (it == partial_runs_.end()) {
    return errors::InvalidArgument("Must run 'setup' before performing partial runs! No run has the handle '",
                                   args.partial_run_handle, "'");
  }
  return it->second->Take(args);
}

absl::StatusOr<RunStepResult> MasterSession::RunPartial(const CallOptions& call, const RunStepArgs& args) {
  if (!args.targets.empty()) {
    return errors::InvalidArgument("Partial run does not accept targets at run time; they belong to its set-up");
  }
  ASSIGN_OR_RETURN(ClientPartialRun::Piece piece, TakePiece(args));
  auto result = piece.step->RunPartial(piece.feed_indices, std::move(piece.feeds), piece.fetch_indices, piece.is_last,
                                       call.cancellation);
  if (piece.is_last || !result.ok()) {
    Ended(*piece.step, result.status());
    MutexLock lock(mu_);
    partial_runs_.erase(args.partial_run_handle);
  }
  return result;
}

void MasterSession::EndPartialRuns() {
  absl::flat_hash_map<std::string, std::unique_ptr<ClientPartialRun>> ended;
  {
    MutexLock lock(mu_);
    partial_runs_.swap(ended);
  }
  const absl::Status gone = absl::CancelledError("The client of the partial run is gone");
  for (const auto& [handle, run] : ended) {
    run->step()->Fail(gone);
    Ended(*run->step(), gone);
  }
}

std::shared_ptr<MasterSession::Callable> MasterSession::NewCallable(const tensorflow::CallableOptions& options) {
  auto callable = std::make_shared<Callable>();
  callable->signature = {ToVector(options.feed()), ToVector(options.fetch()), ToVector(options.target())};
  for (const auto& connection : options.tensor_connection()) {
    callable->signature.connections.emplace_back(connection.from_tensor(), connection.to_tensor());
  }
  callable->run_options = options.run_options();
  callable->run_options.clear_debug_options();  // steps of callables are not watched
  return callable;
}

absl::Status MasterSession::MakeCallable(const CallOptions& call, const tensorflow::MakeCallableRequest& request,
                                         tensorflow::MakeCallableResponse* response) {
  std::shared_ptr<Callable> callable = NewCallable(request.options());
  RETURN_IF_ERROR(RefreshIfNeeded());
  ASSIGN_OR_RETURN(callable->graph, GetClientGraph(call, {}, callable->signature));
  int64_t handle;
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(CheckOpen());
    callable->epoch = epoch_;
    handle = next_callable_++;
  }
  if (options_.journal != nullptr) {
    RETURN_IF_ERROR(options_.journal->AddCallable(options_.handle, handle, request.options()));
  }
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckOpen());
  callables_.emplace(handle, std::move(callable));
  response->set_handle(handle);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<ClientGraph>> MasterSession::GraphOfCallable(const CallOptions& call,
                                                                            const std::shared_ptr<Callable>& callable) {
  {
    MutexLock lock(mu_);
    if (callable->epoch == epoch_ && callable->graph != nullptr) return callable->graph;
  }
  int64_t epoch;
  ASSIGN_OR_RETURN(std::shared_ptr<ClientGraph> graph,
                   BuildClientGraph(call, callable->run_options, callable->signature, &epoch));
  std::shared_ptr<ClientGraph> stale;  // destroyed after unlocking, because that calls workers
  MutexLock lock(mu_);
  stale = std::exchange(callable->graph, graph);
  callable->epoch = epoch;
  return graph;
}

absl::StatusOr<RunStepResult> MasterSession::RunCallable(const CallOptions& call, const RunCallableArgs& args) {
  RETURN_IF_ERROR(RefreshIfNeeded());
  std::shared_ptr<Callable> callable;
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(CheckOpen());
    auto it = callables_.find(args.handle);
    if (it == callables_.end()) return errors::InvalidArgument("No such callable handle: ", args.handle);
    callable = it->second;
  }
  if (args.feeds.size() != callable->signature.feeds.size()) {
    return errors::InvalidArgument("Expected ", callable->signature.feeds.size(), " feeds for callable ", args.handle,
                                   ", but got ", args.feeds.size());
  }
  return RunWhole(
      call, callable->run_options, [&] { return GraphOfCallable(call, callable); }, args.feeds);
}

absl::Status MasterSession::ReleaseCallable(int64_t handle) {
  std::shared_ptr<Callable> released;
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(CheckOpen());
    auto it = callables_.find(handle);
    if (it == callables_.end()) return errors::InvalidArgument("No such callable handle: ", handle);
    released = std::move(it->second);
    callables_.erase(it);
  }
  if (options_.journal != nullptr) options_.journal->RemoveCallable(options_.handle, handle);
  return absl::OkStatus();
}

std::vector<std::shared_ptr<Step>> MasterSession::RunningSteps(absl::Time before) const {
  std::vector<std::shared_ptr<Step>> running;
  MutexLock lock(steps_mu_);
  for (const auto& [id, step] : steps_) {
    if (step->start() < before) running.push_back(step);
  }
  return running;
}

absl::Status MasterSession::AwaitSteps(absl::Time end) {
  {
    MutexLock lock(steps_mu_);
    while (!steps_.empty()) {
      if (end == absl::InfiniteFuture()) {
        lock.Wait(step_ended_);
      } else if (lock.WaitUntil(step_ended_, ToSteady(end)) == std::cv_status::timeout && !steps_.empty()) {
        break;
      }
    }
  }
  const std::vector<std::shared_ptr<Step>> steps = RunningSteps(absl::InfiniteFuture());
  if (steps.empty()) return absl::OkStatus();
  const StepWaitsById waits = Await<StepWaitsById>(
      [&](auto done) { SurveyWaits(steps, MonotonicNow() + options_.tasks.call_timeout, std::move(done)); });
  absl::btree_set<std::string> tasks, nodes;
  for (const auto& step : steps) {
    for (std::string& task : step->RunningOn()) tasks.insert(std::move(task));
  }
  for (const auto& [id, of_step] : waits) {
    for (const StepWait& wait : of_step) nodes.insert(DescribeWait(wait));
  }
  return errors::DeadlineExceeded("Session ", options_.handle, " is closed, but ", steps.size(),
                                  " of its steps ignore their cancellation on ", absl::StrJoin(tasks, ", "),
                                  nodes.empty() ? "" : absl::StrCat(", in ", absl::StrJoin(nodes, ", ")),
                                  ", where they end once their kernels return");
}

void MasterSession::CancelSteps() {
  {
    MutexLock lock(steps_mu_);
    closing_ = true;
  }
  for (const auto& step : RunningSteps(absl::InfiniteFuture())) {
    step->Fail(absl::CancelledError("Step was cancelled by an explicit call to `Session::Close()`."));
  }
}

absl::Status MasterSession::Close(absl::Duration patience) {
  absl::flat_hash_map<std::string, std::unique_ptr<ClientPartialRun>> partial_runs;
  {
    MutexLock lock(mu_);
    if (closed_) return absl::OkStatus();
    closed_ = true;
    partial_runs_.swap(partial_runs);
  }
  CancelSteps();
  for (const auto& [handle, run] : partial_runs) Ended(*run->step(), absl::OkStatus());
  partial_runs.clear();
  absl::Status status = AwaitSteps(MonotonicNow() + patience);
  absl::flat_hash_map<Signature, std::shared_ptr<ClientGraph>> client_graphs;
  absl::flat_hash_map<int64_t, std::shared_ptr<Callable>> callables;
  {
    MutexLock lock(mu_);
    client_graphs_.swap(client_graphs);
    callables_.swap(callables);
  }
  ended_steps_->Flush();
  client_graphs.clear();
  callables.clear();
  tasks_.Disconnect();
  return status;
}

}  // namespace weir
