#include "master/step.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/transport/answer_margin.h"
#include "master/bounded_run.h"

namespace weir {
namespace {

// The time for the coordinator to answer whether a step is committed.
constexpr absl::Duration kAbortTimeout = absl::Seconds(1);
// The time for the tasks to finish committed updates, and for those that remain of a task and its standby.
constexpr absl::Duration kCommittedPatience = absl::Seconds(5), kSurvivorsPatience = absl::Milliseconds(100);

// True if `candidate` says more about the cause than `known`.
bool IsBetterCause(const absl::Status& known, const absl::Status& candidate) {
  if (known.ok()) return true;
  auto is_consequence = [](const absl::Status& s) { return IsDerived(s) || absl::IsCancelled(s); };
  return is_consequence(known) && !is_consequence(candidate);
}

// Begins with TensorFlow's message, which programs may look for.
constexpr char kTimedOut[] =
    "Timed out waiting for notification: the step did not end within its time limit (timeout_in_ms, the session's "
    "operation_timeout_in_ms, or the call's deadline)";

}  // namespace

// While it lives, the caller's cancellation ends the step. Not a child of that manager, because the step may outlive
// the call (the health monitor holds it for a moment).
class Step::CallerLink {
 public:
  CallerLink(Step* step, CancellationManager* caller) : caller_(caller) {
    if (caller_ == nullptr) return;
    token_ = caller_->Register([step, caller] { step->Fail(caller->status()); });
    if (token_ == CancellationManager::kInvalidToken) step->Fail(caller_->status());
  }
  ~CallerLink() {
    if (caller_ != nullptr && token_ != CancellationManager::kInvalidToken) caller_->Deregister(token_);
  }
  CallerLink(const CallerLink&) = delete;

 private:
  CancellationManager* const caller_;
  CancellationManager::Token token_ = CancellationManager::kInvalidToken;
};

Step::Step(Options options, std::shared_ptr<const ClientGraph> graph)
    : options_(std::move(options)), graph_(std::move(graph)), start_(MonotonicNow()) {
  if (options_.deadline < absl::InfiniteFuture()) {
    has_timer_ = true;
    // The parts give up at the deadline; this ends those that do not answer.
    const absl::Time end = options_.deadline + (CallDeadlineFor(options_.deadline, start_) - options_.deadline) / 2;
    timer_ = options_.timers->Schedule(end, [this] { TimeOut(); });
  }
}

Step::~Step() {
  if (has_timer_) options_.timers->Cancel(timer_);
  if (has_hard_end_) options_.timers->Cancel(hard_end_);
  {
    MutexLock lock(mu_);
    while (pending_ > 0) lock.Wait(all_done_);  // only for a step that failed before it ran
  }
  if (is_partial_ || graph_->has_transfers()) Cleanup();
}

absl::StatusOr<RunStepResult> Step::Run(std::vector<Tensor> feeds, CancellationManager* caller) {
  const CallerLink link(this, caller);
  RunStepResult result;
  result.fetches.resize(graph_->num_fetches());
  {
    MutexLock lock(mu_);
    pending_ += static_cast<int>(graph_->parts().size());
    for (const auto& part : graph_->parts()) running_.push_back(&part);
  }
  // The local part comes last: it may run on this thread, once the remote parts are on their way.
  for (const auto& part : graph_->parts()) {
    RunGraphArgs args;
    args.feeds.reserve(part.feeds.size());
    for (int feed : part.feeds) args.feeds.push_back(feeds[feed]);
    Start(part, std::move(args), part.fetches, &result.fetches, &result.metadata);
  }
  absl::Status ended = Wait();
  for (const auto& [to, from] : graph_->repeated_fetches()) result.fetches[to] = result.fetches[from];
  if (ended.ok()) return result;
  result_ = std::move(result);
  return ended;
}

absl::StatusOr<RunStepResult> Step::RunPartial(const std::vector<int>& feed_indices, std::vector<Tensor> feeds,
                                               const std::vector<int>& fetch_indices, bool is_last,
                                               CancellationManager* caller) {
  is_partial_ = true;
  {
    MutexLock lock(mu_);
    if (!error_.ok()) return error_;  // an earlier call's: the run has ended
    over_ = false;
    pending_ += static_cast<int>(graph_->parts().size());
    for (const auto& part : graph_->parts()) running_.push_back(&part);
  }
  const CallerLink link(this, caller);
  RunStepResult result;
  result.fetches.resize(graph_->num_fetches());
  auto position = [](const std::vector<int>& list, int value) {
    return static_cast<int>(std::find(list.begin(), list.end(), value) - list.begin());
  };
  for (const auto& part : graph_->parts()) {
    RunGraphArgs args;
    args.is_partial = true;
    args.is_last_partial_run = is_last;
    for (size_t i = 0; i < feed_indices.size(); ++i) {
      const int at = position(part.feeds, feed_indices[i]);
      if (at == static_cast<int>(part.feeds.size())) continue;
      args.feed_indices.push_back(at);
      args.feeds.push_back(feeds[i]);
    }
    std::vector<int> fetch_positions;
    for (int fetch : fetch_indices) {
      const int at = position(part.fetches, fetch);
      if (at == static_cast<int>(part.fetches.size())) continue;
      args.fetch_indices.push_back(at);
      fetch_positions.push_back(fetch);
    }
    Start(part, std::move(args), std::move(fetch_positions), &result.fetches, &result.metadata);
  }
  RETURN_IF_ERROR(Wait());
  std::vector<Tensor> fetched;
  for (int fetch : fetch_indices) fetched.push_back(result.fetches[fetch]);
  result.fetches = std::move(fetched);
  return result;
}

void Step::Start(const ClientGraph::Part& part, RunGraphArgs args, std::vector<int> fetch_positions,
                 std::vector<Tensor>* fetches, tensorflow::RunMetadata* metadata) {
  auto shared = std::make_shared<RunGraphArgs>(std::move(args));
  shared->session_handle = options_.session_handle;
  shared->graph_handle = part.graph_handle;
  shared->step_id = options_.step_id;
  shared->exec_opts = options_.exec_opts;
  // A part that waits for a decision may outlast the step.
  const bool may_outlast = part.is_local && part.awaits_decision;
  shared->caller_waits = part.is_local && !shared->is_partial && !may_outlast;  // it comes last
  const CallOptions call{.deadline = CallDeadlineFor(options_.deadline, MonotonicNow()),
                         .cancellation = &cancellation_};
  const absl::Time start = options_.recording != nullptr ? MonotonicNow() : absl::InfinitePast();
  auto done = [this, &part, start, positions = std::move(fetch_positions), fetches, metadata](auto result) {
    if (options_.recording != nullptr) Record(part, start, result);
    Finish(part, std::move(result), positions, fetches, metadata);
  };
  if (may_outlast) return RunGraphInTime(*part.worker, options_.timers, call, std::move(shared), std::move(done));
  part.worker->RunGraphAsync(call, std::move(shared), std::move(done));
}

void Step::Record(const ClientGraph::Part& part, absl::Time start, absl::StatusOr<RunGraphResult>& result) {
  tensorflow::StepStats stats;
  if (result.ok() && options_.recording->for_client()) {
    stats = result->step_stats;
  } else if (result.ok()) {
    stats.Swap(&result->step_stats);
  }
  options_.recording->PartEnded(part.task, start, result.status(), std::move(stats));
}

bool Step::GaveUpInTime(const absl::Status& status) const {
  return absl::IsDeadlineExceeded(status) &&
         MonotonicNow() + AnswerMargin(options_.deadline - start_) >= options_.deadline;
}

void Step::Finish(const ClientGraph::Part& part, absl::StatusOr<RunGraphResult> result,
                  const std::vector<int>& fetch_positions, std::vector<Tensor>* fetches,
                  tensorflow::RunMetadata* metadata) {
  if (result.ok() && result->fetches.size() != fetch_positions.size()) {
    result = errors::Internal("A worker returned ", result->fetches.size(), " tensors where ", fetch_positions.size(),
                              " were fetched");
  }
  const bool gave_up = GaveUpInTime(result.status());
  if (!result.ok()) {
    {
      MutexLock lock(mu_);
      part_failed_ = true;
      if (part.is_coordinator || part.awaits_decision) failed_tasks_.push_back(part.task);
      fetches_failed_ = fetches_failed_ || !fetch_positions.empty();
    }
    if (!gave_up) Fail(result.status());
  }
  MutexLock lock(mu_);
  if (gave_up) {
    timed_out_ = true;
    late_.push_back(absl::StrCat(part.task, ": ", result.status().message()));
    if (IsBetterCause(error_, result.status())) error_ = result.status();
  } else if (absl::IsCancelled(result.status())) {
    late_.push_back(absl::StrCat(part.task, ": it did not answer in time"));
  }
  if (result.ok()) {
    for (size_t i = 0; i < fetch_positions.size(); ++i) {
      (*fetches)[fetch_positions[i]] = std::move(result->fetches[i]);
    }
    if (result->step_stats.dev_stats_size() > 0) metadata->mutable_step_stats()->MergeFrom(result->step_stats);
    if (result->cost_graph.node_size() > 0) metadata->mutable_cost_graph()->MergeFrom(result->cost_graph);
    for (auto& graph : result->partition_graphs) *metadata->add_partition_graphs() = std::move(graph);
  }
  running_.erase(std::find(running_.begin(), running_.end(), &part));
  if (--pending_ == 0) all_done_.notify_all();  // under the lock: the waiter may destroy this step at once
}

std::vector<std::string> Step::RunningOn() {
  MutexLock lock(mu_);
  std::vector<std::string> tasks;
  for (const ClientGraph::Part* part : running_) tasks.push_back(part->task);
  return tasks;
}

std::vector<UsedTasks::Task> Step::OtherTasks() const {
  return options_.used == nullptr ? std::vector<UsedTasks::Task>() : options_.used->Without(*graph_);
}

void Step::Fail(absl::Status status) {
  const ClientGraph::Part* const coordinator = graph_->coordinator();
  // A task that was found dead does not answer.
  const bool is_dead = absl::IsUnavailable(status) && coordinator != nullptr &&
                       OriginOf(status).value_or(ErrorOrigin()).task == coordinator->task;
  const bool asks = coordinator != nullptr && !is_dead;
  const std::optional<ErrorOrigin> origin = OriginOf(status);
  const bool survives = absl::IsUnavailable(status) && origin && graph_->HasStandby(origin->task);
  {
    MutexLock lock(mu_);
    lost_one_of_two_ = lost_one_of_two_ || survives;
    if (over_) return;
    if (IsBetterCause(error_, status)) error_ = status;
    if (ending_) return;
    ending_ = true;
    if (asks) ++pending_;  // for the answer
  }
  asks ? AbortAt(*coordinator) : CancelParts();
}

void Step::CancelParts() {
  std::string cause;
  {
    MutexLock lock(mu_);
    cause = std::string(error_.message());
  }
  cancellation_.StartCancel(MarkDerived(
      absl::CancelledError(absl::StrCat("The step was cancelled because another part of it failed: ", cause))));
}

void Step::AbortAt(const ClientGraph::Part& coordinator) {
  struct Question {
    ResolveStepRequest request;
    ResolveStepResponse response;
  };
  auto question = std::make_shared<Question>();
  question->request.set_session_handle(options_.session_handle);
  question->request.set_step_id(options_.step_id);
  coordinator.worker->ResolveStepAsync(
      {.deadline = MonotonicNow() + kAbortTimeout}, &question->request, &question->response,
      [this, question](const absl::Status& status) { Aborted(status, question->response); });
}

void Step::Aborted(const absl::Status& status, const ResolveStepResponse& response) {
  // Another incarnation has forgotten its decision, which may have reached others.
  const bool answered = status.ok() && response.incarnation() == graph_->coordinator()->incarnation;
  const bool committed = answered && response.committed();
  absl::Duration patience;
  {
    MutexLock lock(mu_);
    patience = lost_one_of_two_ ? kSurvivorsPatience : kCommittedPatience;
    if (answered) updates_ = committed ? Updates::kCommitted : Updates::kAborted;
  }
  if (committed && options_.timers != nullptr) {
    has_hard_end_ = true;
    hard_end_ = options_.timers->Schedule(MonotonicNow() + patience, [this] { CancelParts(); });
  } else {
    CancelParts();
  }
  MutexLock lock(mu_);
  if (--pending_ == 0) all_done_.notify_all();  // as in Finish
}

bool Step::is_settled() const {
  MutexLock lock(mu_);
  return graph_->coordinator() == nullptr || error_.ok() || updates_ == Updates::kAborted;
}

Step::Updates Step::updates() const {
  MutexLock lock(mu_);
  return updates_;
}

std::optional<RunStepResult> Step::TakeResult(const std::string& lost_task) {
  MutexLock lock(mu_);
  const auto is_lost = [&](const std::string& task) { return task == lost_task; };
  if (fetches_failed_ || !std::all_of(failed_tasks_.begin(), failed_tasks_.end(), is_lost)) return std::nullopt;
  return std::exchange(result_, std::nullopt);
}

void Step::TimeOut() {
  {
    MutexLock lock(mu_);
    timed_out_ = true;
  }
  Fail(absl::DeadlineExceededError(kTimedOut));
}

absl::Status Step::Wait() {
  if (options_.poller != nullptr) {
    options_.poller->Await([this] {
      MutexLock lock(mu_);
      return pending_ == 0;
    });
  }
  MutexLock lock(mu_);
  while (pending_ > 0) lock.Wait(all_done_);
  over_ = true;
  return Outcome();
}

absl::Status Step::Outcome() {
  if (error_.ok()) return error_;
  if (updates_ == Updates::kCommitted) {
    if (part_failed_) {
      return Annotate(error_, "The step's updates are committed, but not every task has confirmed them");
    }
    error_ = absl::OkStatus();  // it came too late to end the step
    return error_;
  }
  if (!timed_out_ || !absl::IsDeadlineExceeded(error_) || late_.empty()) return error_;
  return WithOrigin(absl::DeadlineExceededError(absl::StrCat(kTimedOut, ". ", absl::StrJoin(late_, "; "))),
                    OriginOf(error_).value_or(ErrorOrigin()));
}

void Step::Cleanup() {
  bool has_ended_well;
  {
    MutexLock lock(mu_);
    has_ended_well = !is_partial_ && error_.ok();
  }
  // Calls within this process cost nothing.
  const bool is_local = graph_->parts().size() == 1 && graph_->parts()[0].is_local;
  if (has_ended_well && !is_local && options_.ended != nullptr) {
    options_.ended->Add(options_.step_id, graph_);
  } else {
    EndedSteps::Cleanup(options_.step_id, *graph_);
  }
}

}  // namespace weir
