#include "worker/executor/step_execution.h"

#include <utility>

#include "core/kernel/step_commit.h"
#include "core/threads/compute_guest.h"
#include "core/threads/flush_denormals.h"
#include "graph/graph.h"

namespace weir {

thread_local StepExecution::Runner* StepExecution::current_runner_ = nullptr;
thread_local const CancellationManager* StepExecution::awaited_ = nullptr;

// For the caller of the outermost plan on this thread.
class StepExecution::CallerWaits {
 public:
  explicit CallerWaits(const StepArgs& args) : before_(awaited_) {
    if (current_runner_ == nullptr) awaited_ = args.context->cancellation;
  }
  ~CallerWaits() { awaited_ = before_; }
  CallerWaits(const CallerWaits&) = delete;

 private:
  const CancellationManager* const before_;
};

StepExecution::StepExecution(const Plan& plan, NodeCosts& costs)
    : plan_(plan), costs_(costs), result_is_set_(plan.results.size()) {}
StepExecution::~StepExecution() = default;

void StepExecution::Start(const StepArgs& args) {
  if (current_runner_ != nullptr) current_runner_->step->BeforeCall();
  args_ = args;
  if (args.context->commit != nullptr) {
    waiting_context_ = *args.context;
    waiting_context_.cancellation = args.context->commit->waits();
  }
  weighs_inputs_ = args.poller != nullptr && args.context->device->type() == kDeviceCpu;
  shared_ = false;
  measure_ = args.observer != nullptr || costs_.MeasureNextStep();
  failed_.store(false, std::memory_order_relaxed);
  aborted_.store(false, std::memory_order_relaxed);
  runners_.store(1, std::memory_order_relaxed);
  if (!plan_.results.empty()) {
    args_.results->resize(plan_.results.size());
    std::fill(result_is_set_.begin(), result_is_set_.end(), 0);
  }
}

absl::Status StepExecution::RunSync(const StepArgs& args) {
  is_sync_ = true;
  finished_ = false;
  caller_is_wanted_ = false;
  Start(args);
  Runner first{this};
  Begin(first.queue);
  const CallerWaits waits(args);
  ComputeGuest guest(*args.context->device->work_queue(), this);
  RunLoop(std::move(first));
  // The wait may depend on nodes that this thread's kernels hold up.
  Runner* const below = current_runner_;
  if (below != nullptr && !caller_is_wanted_.load(std::memory_order_acquire)) LeaveStack();
  current_runner_ = nullptr;
  std::vector<AsyncCall*> calls;
  while (WaitForCompletions(guest, &calls)) {
    Runner next = ResumedBy(calls.back());
    next.completed = std::move(calls);
    RunLoop(std::move(next));
  }
  current_runner_ = below;
  return TakeStatus();
}

void StepExecution::RunAsync(const StepArgs& args, bool on_caller, std::function<void(absl::Status)> done) {
  is_sync_ = false;
  Start(args);
  done_ = std::move(done);
  auto first = std::make_unique<Runner>(Runner{this});
  Begin(first->queue);
  if (on_caller) {
    const CallerWaits waits(args);
    ComputeGuest guest(*args.context->device->work_queue(), nullptr);
    return RunLoop(std::move(*first));
  }
  args.context->device->work_queue()->Schedule([first = std::move(first)] { RunLoop(std::move(*first)); });
}

bool StepExecution::WaitForCompletions(ComputeGuest& guest, std::vector<AsyncCall*>* calls) {
  for (;;) {
    {
      MutexLock lock(mu_);
      caller_waits_ = true;
    }
    ComputePool::Task task = guest.FindTask([this] { return caller_is_wanted_.load(std::memory_order_acquire); });
    {
      MutexLock lock(mu_);
      if (task == nullptr && !caller_is_wanted_) {
        guest.Leave();
        while (!caller_is_wanted_) lock.Wait(wake_caller_);
        guest.Return();
      }
      caller_waits_ = false;
      caller_is_wanted_ = finished_;
      *calls = std::exchange(inbox_, {});
    }
    if (task == nullptr) return !calls->empty();
    for (AsyncCall* call : std::exchange(*calls, {})) Deliver(call);  // this thread is busy
    const FlushDenormals flush;
    task();
  }
}

void StepExecution::RunLoop(Runner runner) {
  // Runs the completions of other steps.
  const auto run = [](Runner& next) {
    StepExecution& step = *next.step;
    step.Work(next);
    // A function's caller continues in EndRunner, and may call functions indefinitely (While).
    if (current_runner_ == nullptr && step.args_.context->call_depth > 0) DeliverOthers(next);
    std::vector<AsyncCall*> others = std::move(next.completed);
    if (next.is_helper) step.helpers_.fetch_sub(1, std::memory_order_relaxed);
    step.EndRunner();
    return others;
  };
  std::vector<AsyncCall*> others = run(runner);
  if (current_runner_ != nullptr) {
    current_runner_->completed.insert(current_runner_->completed.end(), others.begin(), others.end());
    return;
  }
  for (DeliverUnawaited(&others); !others.empty(); DeliverUnawaited(&others)) {
    // All waiting completions go with the next runner; if it does not end, it passes them on.
    Runner next = ResumedBy(others.back());
    next.completed = std::move(others);
    others = run(next);
  }
}

void StepExecution::Work(Runner& runner) {
  const FlushDenormals flush;
  runner.outer = std::exchange(current_runner_, &runner);
  TakeCompletions(runner);
  do {
    while (!runner.queue.empty()) {
      Drain(runner);
      if (aborted()) runner.queue = {};
      TakeCompletions(runner);
    }
  } while (AwaitKernels(runner));
  RestBeforeLongWork();
  current_runner_ = runner.outer;
}

bool StepExecution::AwaitKernels(Runner& runner) {
  // A runner below this one on the stack has work.
  if (args_.poller == nullptr || runner.outer != nullptr || aborted()) return false;
  if (!runner.completed.empty() || runners_.load(std::memory_order_relaxed) == 1) return false;
  args_.poller->AwaitAndStay([&] { return !runner.completed.empty() || aborted(); });
  if (runner.completed.empty()) return false;
  TakeCompletions(runner);
  return true;
}

void StepExecution::RestBeforeLongWork() {
  if (args_.poller != nullptr) args_.poller->Rest();
}

void StepExecution::RestBefore(const PlanNode& node, const Ready& ready, absl::Span<const TensorValue> inputs) {
  if (node.is(PlanNode::kMayBeCostly)) {
    if (costs_.nanos(ready.node) == 0) RestBeforeLongWork();
    return;
  }
  int64_t bytes = 0;
  for (const TensorValue& input : inputs) {
    if (input.tensor != nullptr && !input.is_ref()) bytes += input.tensor->TotalBytes();
  }
  if (bytes > kCheapBytes) RestBeforeLongWork();
}

void StepExecution::EndRunner() {
  if (runners_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (is_sync_) {
    MutexLock lock(mu_);
    finished_ = true;
    caller_is_wanted_ = true;
    wake_caller_.notify_one();  // under the lock: the caller may then use this object for another step
    return;
  }
  absl::Status status = TakeStatus();
  std::function<void(absl::Status)> done = std::exchange(done_, nullptr);
  done(std::move(status));
}

absl::Status StepExecution::TakeStatus() {
  absl::Status status;
  if (failed_.load(std::memory_order_relaxed)) {
    MutexLock lock(mu_);
    status = std::exchange(status_, absl::OkStatus());
  } else {
    for (size_t i = 0; i < result_is_set_.size(); ++i) {
      if (result_is_set_[i]) continue;
      status = NoValue(*plan_.results[i], i);  // it waits for a value that never came
      break;
    }
  }
  Clean(!status.ok());
  return status;
}

void StepExecution::BeforeCall() {
  current_runner_->step->RestBeforeLongWork();
  current_runner_->step->LetOthersRun();
  if (++current_runner_->calls % ReadyQueue::kTurn == 0) LeaveStack();
}

void StepExecution::LetOthersRun() { args_.context->device->work_queue()->compute_pool().LetOthersRun(); }

void StepExecution::LeaveStack() {
  for (Runner* runner = current_runner_; runner != nullptr; runner = runner->outer) runner->step->LeaveAll(*runner);
}

void StepExecution::LeaveAll(Runner& runner) {
  DeliverOthers(runner);
  if (args_.is_alone || runner.queue.empty()) return;
  Share();
  runners_.fetch_add(1, std::memory_order_relaxed);
  auto other = std::make_unique<Runner>(Runner{this, std::exchange(runner.queue, {})});
  args_.context->device->work_queue()->Schedule([other = std::move(other)] { RunLoop(std::move(*other)); }, this);
}

bool StepExecution::Take(Runner& runner, Ready* ready) {
  if (aborted()) return false;
  ReadyQueue& queue = runner.queue;
  const bool others_turn = queue.IsTurnOfWaiting();
  const bool takes_costly = queue.num_costly() > 0 && (others_turn || !queue.has_cheap());
  if (others_turn || takes_costly) {
    RestBeforeLongWork();
    DeliverOthers(runner);
    LetOthersRun();
  }
  if (!takes_costly) {
    if (!queue.has_cheap()) return false;
    *ready = queue.TakeCheap();
    return true;
  }
  *ready = queue.TakeCostly();
  if (queue.costly_nanos() >= kWorthWakingNanos) HandOff(queue);
  return true;
}

bool StepExecution::PutAside(const Ready& ready, uint32_t nanos, Runner& runner) {
  ReadyQueue& queue = runner.queue;
  if (!queue.has_cheap()) {
    RestBeforeLongWork();
    DeliverOthers(runner);
    if (queue.costly_nanos() >= kWorthWakingNanos) HandOff(queue);
    return false;
  }
  queue.PutAside(ready, nanos);
  if (queue.num_costly() > 1 && queue.costly_nanos() >= 2 * kWorthWakingNanos) HandOff(queue);
  return true;
}

void StepExecution::HandOff(ReadyQueue& queue) {
  if (args_.is_alone) return;
  WorkQueue* work_queue = args_.context->device->work_queue();
  if (helpers_.load(std::memory_order_relaxed) >= work_queue->num_threads()) return;
  Share();
  helpers_.fetch_add(1, std::memory_order_relaxed);
  runners_.fetch_add(1, std::memory_order_relaxed);
  auto helper = std::make_unique<Runner>(Runner{this, queue.TakeHalfOfCostly()});
  helper->is_helper = true;
  work_queue->Schedule([helper = std::move(helper)] { RunLoop(std::move(*helper)); }, this);
}

}  // namespace weir
