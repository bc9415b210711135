// One run of a plan: what straight and framed runs share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "core/busy_poller.h"
#include "core/mutex.h"
#include "core/op_kernel.h"
#include "worker/node_costs.h"
#include "worker/plan.h"
#include "worker/ready_queue.h"

namespace weir {
class ComputeGuest;

// Told of every node that ran. Thread-safe.
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
  // What a thread looks after that has nothing else to do while asynchronous kernels are under way; may be null.
  BusyPoller* poller = nullptr;
  // Nodes run on the thread that begins, and no other helps: for kernels that run plans, whose threads may be all that
  // the work queue has.
  bool is_alone = false;
};

// Runs one step at a time and is used again for the next.
//
// Threads: a *runner* is a thread that works on the step, or an asynchronous kernel under way; the step is done when
// there is none. A runner keeps what it makes ready to itself and hands surplus costly nodes to the work queue. What an
// asynchronous kernel leads to runs on the thread that launched it where it is done at once, or while that thread, with
// nothing else to do, looks after what others send (StepArgs::poller); where another step's runner completes it,
// after that runner has nothing else to do; else on the caller of RunSync where it waits, else on the thread that
// brought it where that may compute afterwards (BusyPoller::RunSoon), else on the work queue. So neither threads that
// deliver tensors compute, nor do stacks grow.
class StepExecution {
 public:
  StepExecution(const Plan& plan, NodeCosts& costs);
  virtual ~StepExecution();

  // Computes on the caller's thread and waits. The results are set when OK. Where a kernel calls it, what its thread
  // has still to do for the steps around it goes to the work queue before it waits; on one of the queue's own threads
  // another must be left for that.
  absl::Status RunSync(const StepArgs& args);
  // That of the step on which this thread works; nullptr where there is none. For kernels that run plans of their own.
  static StepObserver* CurrentObserver() {
    return current_runner_ == nullptr ? nullptr : current_runner_->step->args_.observer;
  }
  // `done` runs once, with no lock held; the execution may then be used again or destroyed. With `on_caller` this
  // thread computes first, and the device's work queue lives until the call returns.
  void RunAsync(const StepArgs& args, bool on_caller, std::function<void(absl::Status)> done);

 protected:
  struct AsyncCall;
  struct Runner;

  // Fills in arguments and pushes the roots.
  virtual void Begin(ReadyQueue& queue) = 0;
  // Runs nodes until the queue is empty or the step is aborted.
  virtual void Drain(Runner& runner) = 0;
  // Hands outputs to their readers and pushes those that are ready.
  virtual void Propagate(const PlanNode& node, const Ready& ready, ReadyQueue& queue) = 0;
  virtual OpOutput* Slots(const Ready& ready) = 0;
  // Everything that a finished (or failed) step left behind goes.
  virtual void Clean(bool failed) = 0;

  // Whether other threads may work on the step by now. Until then counts need no atomic operations. Only ever set, by a
  // runner, before the others can see the step.
  bool shared() const { return shared_; }
  bool aborted() const { return aborted_.load(std::memory_order_relaxed); }
  // Puts `ready` aside, or returns true when it is to run now.
  bool RunsNow(const PlanNode& node, const Ready& ready, Runner& runner) {
    if (!node.is(PlanNode::kMayBeCostly) || ready.was_put_aside) return true;
    const uint32_t nanos = costs_.nanos(ready.node);
    return nanos < kCostlyNanos || !PutAside(ready, nanos, runner);
  }
  // Next node; false when there is none, or the step is aborted.
  bool Take(Runner& runner, Ready* ready);
  // Runs the kernel; false after an error, which then has aborted the step.
  bool Compute(const PlanNode& node, const Ready& ready, OpOutput* slots, FrameAndIter frame_iter, bool is_dead);
  // Starts the kernel. Its outputs are propagated when it is done.
  void Launch(const PlanNode& node, const Ready& ready, OpOutput* slots, FrameAndIter frame_iter, Runner& runner);
  // Moves input `i` to `out`: for what the executor does itself.
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
  // Handles completions that reached this thread while it ran a kernel.
  void TakeCompletions(Runner& runner);
  void Fail(const PlanNode& node, absl::Status status);

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

  // One thread at work on one step; linked to the one below it on the stack (a function call's caller).
  struct Runner {
    StepExecution* step;
    ReadyQueue queue;
    std::vector<AsyncCall*> completed;  // on this thread, of any step
    Runner* outer = nullptr;
    bool is_helper = false;
    uint32_t calls = 0;  // of functions and other plans, on top of it
  };

  const Plan& plan_;
  NodeCosts& costs_;
  StepArgs args_;

 private:
  // Below this a node is run at once, and waking a thread (about 45 µs) pays only for this much work.
  static constexpr uint32_t kCostlyNanos = 3'000;
  static constexpr uint64_t kWorthWakingNanos = 50'000;
  // What a kernel without learned cost moves in about kCostlyNanos.
  static constexpr int64_t kCheapBytes = 32 << 10;
  using TensorValues = absl::InlinedVector<TensorValue, 8>;

  void Start(const StepArgs& args);
  // Written once, for others read it.
  void Share() {
    if (!shared_) shared_ = true;
  }
  // Runs `runner`, which holds a place among its step's runners, then whatever other steps' completions reached this
  // thread.
  static void RunLoop(Runner runner);
  // A new runner for a kernel that is done.
  static Runner ResumedBy(AsyncCall* call);
  // Blocks. False: the step is done.
  bool WaitForCompletions(ComputeGuest& guest, std::vector<AsyncCall*>* calls);
  void Work(Runner& runner);
  // Waits a moment for kernels under way. False: there is no more for `runner`.
  bool AwaitKernels(Runner& runner);
  // Lets other threads look after what others send: after AwaitKernels this one is expected back at once.
  void RestBeforeLongWork();
  // The same before a call, of whatever length, on top of this thread's runner. A kernel that calls without end (While)
  // keeps that thread from what its runners still have to do: after some calls it is left to others.
  static void BeforeCall();
  // Whatever this thread's runners, whose kernels are on its stack, have completed or made ready.
  static void LeaveStack();
  void LeaveAll(Runner& runner);
  // The same where the learned cost, at which RunsNow and Take look, does not tell that the kernel is short.
  void RestBefore(const PlanNode& node, const Ready& ready, absl::Span<const TensorValue> inputs);
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
  void FinishAsync(AsyncCall* call, ReadyQueue& queue);

  // The runner on top of this thread's stack: where completions go that its kernels cause.
  static thread_local Runner* current_runner_;

  std::atomic<int> runners_{0};
  std::atomic<int> helpers_{0};  // runners that took over surplus nodes
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
  std::atomic<bool> caller_is_wanted_{false};  // finished_, or inbox_ has calls
  std::vector<AsyncCall*> inbox_ GUARDED_BY(mu_);
  absl::Status status_ GUARDED_BY(mu_);
};

}  // namespace weir
