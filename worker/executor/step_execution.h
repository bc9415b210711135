// One run of a plan: the base of straight and framed runs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "core/kernel/op_kernel.h"
#include "core/mutex.h"
#include "core/threads/busy_poller.h"
#include "core/threads/suspension_watch.h"
#include "worker/executor/node_costs.h"
#include "worker/executor/plan.h"
#include "worker/executor/ready_queue.h"

namespace weir {
class ComputeGuest;
class StepWaits;

// Called for every node that has run. Thread-safe.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void NodeDone(const Node& node, int64_t start_nanos, int64_t end_nanos,
                        absl::Span<const OpOutput> outputs) = 0;
};

struct StepArgs {
  const StepContext* context = nullptr;    // lives until the step is done
  absl::Span<const Tensor> arguments;      // by Plan::arguments; read before Run returns
  std::vector<Tensor>* results = nullptr;  // by Plan::results; lives until the step is done
  StepObserver* observer = nullptr;
  // Polled by threads without other work while asynchronous kernels run; may be null.
  BusyPoller* poller = nullptr;
  // Checked before kernels that use state; null: nothing fences the step.
  const SuspensionWatch* suspension = nullptr;
  // Gets the kernels that the step waits for; may be null.
  StepWaits* waits = nullptr;
  // Gets nodes that failed without aborting the step (StepExecution::Fail): nothing that needs them will run. From any
  // thread; may be null.
  const std::function<void(const Node& node, const absl::Status& status)>* skipped = nullptr;
  // Nodes run only on the starting thread: for kernels that run plans, whose threads may be the work queue's last.
  bool is_alone = false;
};

// Runs one step at a time and is reused for the next.
//
// A *runner* is a thread that works on the step, or a running asynchronous kernel; the step is done when there is none.
// A runner keeps the nodes that it makes ready and gives surplus costly nodes to the work queue. If an async kernel
// completes inline, its successors run on the launching thread. Otherwise they run on, in this order:
// - the launching thread, if it is polling for messages (StepArgs::poller);
// - the completing thread, if it is another step's runner, once it has no other work, unless its caller waits for that
//   step, whose end must not be delayed;
// - the caller of RunSync, if it waits;
// - the completing thread, if it may compute afterwards (BusyPoller::RunSoon);
// - the work queue.
// So threads that deliver tensors do not compute, and stacks do not grow.
class StepExecution {
 public:
  StepExecution(const Plan& plan, NodeCosts& costs);
  virtual ~StepExecution();

  // Computes on the calling thread and waits. The results are set if OK. When a kernel calls it, the pending work of
  // the enclosing steps on this thread goes to the work queue first; on a work-queue thread, another thread must be
  // available for it.
  absl::Status RunSync(const StepArgs& args);
  // The observer of the step on this thread; nullptr if there is none. For kernels that run plans.
  static StepObserver* CurrentObserver() {
    return current_runner_ == nullptr ? nullptr : current_runner_->step->args_.observer;
  }
  // `done` runs once, with no lock held; the execution may then be reused or destroyed. With `on_caller` this thread
  // computes first, and the device's work queue lives until the call returns.
  void RunAsync(const StepArgs& args, bool on_caller, std::function<void(absl::Status)> done);

 protected:
  struct AsyncCall;
  struct Runner;

  // Sets arguments and pushes the roots.
  virtual void Begin(ReadyQueue& queue) = 0;
  // Runs nodes until the queue is empty or the step is aborted.
  virtual void Drain(Runner& runner) = 0;
  // Gives outputs to their readers and pushes those that become ready.
  virtual void Propagate(const PlanNode& node, const Ready& ready, ReadyQueue& queue) = 0;
  virtual OpOutput* Slots(const Ready& ready) = 0;
  // Releases everything that a finished or failed step has left.
  virtual void Clean(bool failed) = 0;

  // True if other threads may work on the step; before that, counts need no atomic operations. Set once, by a runner,
  // before other threads can see the step.
  bool shared() const { return shared_; }
  bool aborted() const { return aborted_.load(std::memory_order_relaxed); }
  // Sets `ready` aside, or returns true if it should run now.
  bool RunsNow(const PlanNode& node, const Ready& ready, Runner& runner) {
    if (!node.is(PlanNode::kMayBeCostly) || ready.was_put_aside) return true;
    const uint32_t nanos = costs_.nanos(ready.node);
    return nanos < kCostlyNanos || !PutAside(ready, nanos, runner);
  }
  // Takes the next node; false if there is none or the step is aborted.
  bool Take(Runner& runner, Ready* ready);
  // Runs the kernel; false after an error, which has aborted the step.
  bool Compute(const PlanNode& node, const Ready& ready, OpOutput* slots, FrameAndIter frame_iter, bool is_dead);
  // Starts the kernel; its outputs are propagated once it is done.
  void Launch(const PlanNode& node, const Ready& ready, OpOutput* slots, FrameAndIter frame_iter, Runner& runner);
  // Moves input `i` to `out`, for actions of the executor itself.
  bool MoveInput(const PlanNode& node, uint32_t i, OpOutput* slots, OpOutput* out);
  bool SetResult(const PlanNode& node, OpOutput* slots, bool is_dead);
  static absl::Status NoValue(const Node& result, size_t index);
  void ReleaseInputs(const PlanNode& node, OpOutput* slots) {
    const InputSource* source = plan_.inputs.data() + node.first_input;
    for (uint32_t i = 0; i < node.num_inputs; ++i) {
      if (source[i] >= 0) Clear(slots[source[i]]);
    }
  }
  void DropUnreadOutputs(const PlanNode& node, OpOutput* slots);
  // Handles completions that arrived on this thread while it ran a kernel.
  void TakeCompletions(Runner& runner);
  // Aborts the step; one that is committed goes on without the node and what needs it, so that it makes its updates.
  void Fail(const PlanNode& node, absl::Status status);
  // Fails the step if it was cancelled. For nodes that run no kernel, which checks that otherwise.
  bool FailIfCancelled(const PlanNode& node);

  static void Clear(OpOutput& slot) {
    slot.value.DropBuffer();
    slot.ref = nullptr;
    slot.ref_mutex = nullptr;
    slot.has_value = false;
  }
  static void Copy(const OpOutput& from, OpOutput& to) {
    to.value = from.value;
    to.ref = from.ref;
    to.ref_mutex = from.ref_mutex;
    to.has_value = true;
  }

  // A thread working on a step; linked to the runner below it on the stack (a function call's caller).
  struct Runner {
    StepExecution* step;
    ReadyQueue queue;
    std::vector<AsyncCall*> completed;  // on this thread, of any step
    Runner* outer = nullptr;
    bool is_helper = false;
    uint32_t calls = 0;  // calls of functions and other plans from this runner
  };

  const Plan& plan_;
  NodeCosts& costs_;
  StepArgs args_;

 private:
  // Cheaper nodes run at once; waking a thread (about 45 µs) pays only for this much work.
  static constexpr uint32_t kCostlyNanos = 3'000;
  static constexpr uint64_t kWorthWakingNanos = 50'000;
  // A kernel without learned cost handles about this many bytes in kCostlyNanos.
  static constexpr int64_t kCheapBytes = 32 << 10;
  using TensorValues = absl::InlinedVector<TensorValue, 8>;

  void Start(const StepArgs& args);
  // Written once, because other threads read it.
  void Share() {
    if (!shared_) shared_ = true;
  }
  // Runs `runner`, which holds a place among its step's runners, then the completions of other steps that arrived on
  // this thread.
  static void RunLoop(Runner runner);
  class CallerWaits;
  // A new runner for a completed kernel.
  static Runner ResumedBy(AsyncCall* call);
  // Blocks. False if the step is done.
  bool WaitForCompletions(ComputeGuest& guest, std::vector<AsyncCall*>* calls);
  void Work(Runner& runner);
  // Polls briefly for running kernels. False if `runner` has no more work.
  bool AwaitKernels(Runner& runner);
  // On a compute thread, lets queued tasks run on another one (ComputePool::LetOthersRun).
  void LetOthersRun();
  // Lets other threads poll: AwaitKernels has kept this thread's turn.
  void RestBeforeLongWork();
  // The same before a call of any length on top of this thread's runner. A kernel that calls functions indefinitely
  // (While) blocks its runners' other work and its thread, so after some calls both are handed over.
  static void BeforeCall();
  // Gives away all work of this thread's runners, whose kernels are on its stack.
  static void LeaveStack();
  void LeaveAll(Runner& runner);
  // The same unless the learned cost, which RunsNow and Take check, shows that the kernel is short.
  void RestBefore(const PlanNode& node, const Ready& ready, absl::Span<const TensorValue> inputs);
  // True if the kernel is worth naming while it runs.
  bool MayLast(const PlanNode& node, const Ready& ready) const;
  bool ContinuesAfter(const absl::Status& failure) const;
  void EndRunner();
  absl::Status TakeStatus();
  bool PutAside(const Ready& ready, uint32_t nanos, Runner& runner);
  void HandOff(ReadyQueue& queue);
  absl::Status GatherInputs(const PlanNode& node, OpOutput* slots, TensorValue* values, std::vector<Tensor>* copies);
  absl::Status GatherReferences(const PlanNode& node, OpOutput* slots, TensorValue* values,
                                std::vector<Tensor>* copies);
  absl::Status ReadReference(const PlanNode& node, uint32_t i, const OpOutput& slot, Tensor* copy);
  absl::Status CheckOutputs(const PlanNode& node, const OpOutput* outputs) const;
  absl::Status BadOutput(const PlanNode& node, uint32_t i, const OpOutput& output) const;
  bool FinishCompute(const PlanNode& node, OpOutput* slots, absl::Status status, int64_t start);
  static void Completed(AsyncCall* call);
  void Deliver(AsyncCall* call);
  static void DeliverOthers(Runner& runner);
  // If this thread's caller waits for a step, hands the completions of other steps to other threads.
  static void DeliverUnawaited(std::vector<AsyncCall*>* calls);
  void FinishAsync(AsyncCall* call, ReadyQueue& queue);

  // The runner on top of this thread's stack, which gets the completions that its kernels cause.
  static thread_local Runner* current_runner_;
  // Identifies the step that this thread's caller waits for: the cancellation that all its plans share. May be null.
  static thread_local const CancellationManager* awaited_;

  StepContext waiting_context_;  // of kernels that wait for other steps, in a step with a commit (StepCommit::waits)
  std::atomic<int> runners_{0};
  std::atomic<int> helpers_{0};      // runners that run surplus nodes
  std::atomic<bool> failed_{false};  // status_ is set
  std::atomic<bool> aborted_{false};
  bool measure_ = false;
  bool weighs_inputs_ = false;  // before kernels without learned cost
  bool shared_ = false;
  std::vector<uint8_t> result_is_set_;
  std::function<void(absl::Status)> done_;

  Mutex mu_;
  std::condition_variable wake_caller_;
  bool is_sync_ = false;  // set before the step starts
  bool caller_waits_ GUARDED_BY(mu_) = false;
  bool finished_ GUARDED_BY(mu_) = false;
  std::atomic<bool> caller_is_wanted_{false};  // finished_ is set, or inbox_ is not empty
  std::vector<AsyncCall*> inbox_ GUARDED_BY(mu_);
  absl::Status status_ GUARDED_BY(mu_);
};

}  // namespace weir
