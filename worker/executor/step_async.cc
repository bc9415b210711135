// Starts the asynchronous kernels of a step, and decides which thread continues the step after them.
#include <utility>

#include "core/memory/out_of_memory.h"
#include "core/threads/compute_guest.h"
#include "graph/graph.h"
#include "worker/executor/step_execution.h"
#include "worker/executor/step_waits.h"

namespace weir {
// A running asynchronous kernel. Of the launch's return and the kernel's completion, the second continues the step.
struct StepExecution::AsyncCall {
  enum Phase { kLaunching, kReturned, kDone };

  StepExecution* step;
  const PlanNode* node;
  Ready ready;
  OpOutput* slots;
  TensorValues inputs;
  std::vector<Tensor> copies;
  std::optional<OpKernelContext> context;
  std::atomic<int> phase{kLaunching};
  bool is_in_waits = false;  // StepArgs::waits
  absl::Status status;
  int64_t start = 0;
};

StepExecution::Runner StepExecution::ResumedBy(AsyncCall* call) {
  call->step->runners_.fetch_add(1, std::memory_order_relaxed);
  Runner runner{call->step};
  runner.completed.push_back(call);
  return runner;
}

void StepExecution::Launch(const PlanNode& node, const Ready& ready, OpOutput* slots, FrameAndIter frame_iter,
                           Runner& runner) {
  auto* call = new AsyncCall{this, &node, ready, slots, TensorValues(node.num_inputs)};
  if (absl::Status status = GatherInputs(node, slots, call->inputs.data(), &call->copies); !status.ok()) {
    delete call;
    return Fail(node, std::move(status));
  }
  if (args_.observer != nullptr) call->start = NowNanos();
  const bool waits = node.is(PlanNode::kWaits) && args_.context->commit != nullptr;
  call->context.emplace(waits ? &waiting_context_ : args_.context, &node.node->def(), call->inputs,
                        node.node->output_types(), absl::MakeSpan(slots + node.first_output, node.num_outputs),
                        frame_iter, ready.is_dead);
  Share();
  runners_.fetch_add(1, std::memory_order_relaxed);
  absl::Status thrown = OrOutOfMemory([&] {
    static_cast<AsyncOpKernel*>(node.kernel)->ComputeAsync(*call->context, [call](absl::Status status) {
      call->status = std::move(status);
      if (call->phase.exchange(AsyncCall::kDone, std::memory_order_acq_rel) == AsyncCall::kReturned) Completed(call);
    });
    return absl::OkStatus();
  });
  // A kernel throws only before it has passed on `done`, if at all.
  int launching = AsyncCall::kLaunching;
  if (!thrown.ok() && call->phase.compare_exchange_strong(launching, AsyncCall::kDone))
    call->status = std::move(thrown);
  if (args_.waits != nullptr && call->phase.load(std::memory_order_relaxed) == AsyncCall::kLaunching) {
    args_.waits->Add(node.node);
    call->is_in_waits = true;
  }
  if (call->phase.exchange(AsyncCall::kReturned, std::memory_order_acq_rel) == AsyncCall::kDone) {
    runners_.fetch_sub(1, std::memory_order_relaxed);
    FinishAsync(call, runner.queue);
  }
}

void StepExecution::Completed(AsyncCall* call) {
  if (current_runner_ != nullptr) {
    current_runner_->completed.push_back(call);
  } else {
    call->step->Deliver(call);
  }
}

void StepExecution::Deliver(AsyncCall* call) {
  if (is_sync_) {
    MutexLock lock(mu_);
    if (caller_waits_) {
      inbox_.push_back(call);
      caller_is_wanted_ = true;
      wake_caller_.notify_one();
      return;
    }
  }
  WorkQueue* const queue = args_.context->device->work_queue();
  if (args_.poller != nullptr) {
    absl::AnyInvocable<void()> resume = [call, queue] {
      ComputeGuest guest(*queue, nullptr);
      RunLoop(ResumedBy(call));
    };
    if (args_.poller->RunSoon(resume)) return;
  }
  queue->Schedule([call] { RunLoop(ResumedBy(call)); }, this);
}

void StepExecution::DeliverOthers(Runner& runner) {
  for (AsyncCall* call : std::exchange(runner.completed, {})) call->step->Deliver(call);
}

void StepExecution::DeliverUnawaited(std::vector<AsyncCall*>* calls) {
  if (awaited_ == nullptr) return;
  std::erase_if(*calls, [](AsyncCall* call) {
    if (call->step->args_.context->cancellation == awaited_) return false;
    call->step->Deliver(call);
    return true;
  });
}

void StepExecution::TakeCompletions(Runner& runner) {
  std::vector<AsyncCall*>& completed = runner.completed;
  for (size_t i = 0; i < completed.size();) {
    AsyncCall* const call = completed[i];
    if (call->step != this) {
      ++i;
      continue;
    }
    completed[i] = completed.back();
    completed.pop_back();
    runners_.fetch_sub(1, std::memory_order_relaxed);  // the kernel's place; this runner has its own
    FinishAsync(call, runner.queue);
  }
}

void StepExecution::FinishAsync(AsyncCall* call, ReadyQueue& queue) {
  std::unique_ptr<AsyncCall> owned(call);
  const PlanNode& node = *call->node;
  if (call->is_in_waits) args_.waits->Remove(node.node);
  if (!FinishCompute(node, call->slots, std::move(call->status), call->start) || aborted()) return;
  Propagate(node, call->ready, queue);
}

}  // namespace weir
