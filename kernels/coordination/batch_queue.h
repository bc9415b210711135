// Calls that are gathered to be computed together.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel/op_kernel.h"
#include "core/mutex.h"

namespace weir {

// The longest that calls wait for each other; a deadline so far stays within the clock's range.
constexpr int64_t kMostWaitMicros = int64_t{365} * 24 * 3600 * 1'000'000;

// One call: tensors whose first dimension is its part of the batch.
struct BatchTask {
  OpKernelContext* ctx = nullptr;  // lives until `done` ran
  std::vector<Tensor> inputs;
  int64_t size = 0;
  int64_t id = 0;
  AsyncOpKernel::DoneCallback done;
  // Takes the task's part of output `i`; empty: it becomes the output of `ctx`.
  std::function<void(int i, Tensor part)> deliver;
  CancellationManager::Token token = CancellationManager::kInvalidToken;
  // Computes the batch that the task is in, where it is the last of it, and runs all tasks' `done`.
  std::function<void(std::vector<BatchTask>)> process;
};
using BatchTasks = std::vector<BatchTask>;

// The rows of input `i` of all tasks, one after the other. InvalidArgument where types or other dimensions differ.
absl::StatusOr<Tensor> JoinRows(OpKernelContext& ctx, const BatchTasks& tasks, size_t i);

// Thread-safe. Add never blocks; `process` of a batch's last task gets it, on a thread that may block, with no lock
// held. A task that is cancelled while it waits leaves its batch.
class BatchQueue : public Resource, public std::enable_shared_from_this<BatchQueue> {
 public:
  struct Options {
    int64_t max_batch_size = 1, timeout_micros = 0, max_batches = 1;
  };

  explicit BatchQueue(Options options) : options_(options) {}
  std::string DebugString() const override { return "BatchQueue"; }
  // InvalidArgument for a task beyond the batch size, Unavailable when too many batches wait: then `done` gets it.
  void Add(BatchTask task);

 private:
  struct Batch {
    BatchTasks tasks;
    int64_t size = 0;
    bool closed = false;
    std::condition_variable changed;
  };

  absl::Status Enter(BatchTask& task, std::shared_ptr<Batch>* begun);
  void Wait(const std::shared_ptr<Batch>& batch);
  void Drop(int64_t id);

  const Options options_;
  Mutex mu_;
  std::shared_ptr<Batch> open_ GUARDED_BY(mu_);
  int64_t waiting_ GUARDED_BY(mu_) = 0;  // batches that are not being processed yet
};

}  // namespace weir
