// A thread from outside that computes among a work queue's threads.
#pragma once

#include "absl/functional/function_ref.h"
#include "core/compute_pool.h"
#include "core/work_queue.h"

namespace weir {

// While it lives and has not left, its thread counts as one of the queue's: one compute thread fewer works beside it,
// so that no more threads compute than there are processors. A caller that runs a step itself is such a guest; what it
// waits for it helps to finish, and it meets no thread that has to be woken. On a compute thread it does nothing.
// Belongs to the thread that made it.
class ComputeGuest {
 public:
  // `owner`: what names the tasks (WorkQueue::Schedule) that are the guest's.
  ComputeGuest(WorkQueue& queue, const void* owner)
      : pool_(queue.InComputeThread() ? nullptr : &queue.compute_pool()), owner_(owner) {
    Return();
  }
  ~ComputeGuest() { Leave(); }
  ComputeGuest(const ComputeGuest&) = delete;
  ComputeGuest& operator=(const ComputeGuest&) = delete;

  // A task of the guest's, or a share in a parallel loop, for it to run. Null when done() is true, or nothing has come
  // for a while: the guest had better leave and block.
  ComputePool::Task FindTask(absl::FunctionRef<bool()> done) {
    return pool_ != nullptr ? pool_->FindTask(owner_, done) : nullptr;
  }
  void Leave() {
    if (pool_ != nullptr && std::exchange(is_here_, false)) pool_->GuestLeaves();
  }
  void Return() {
    if (pool_ != nullptr && !std::exchange(is_here_, true)) pool_->GuestEnters();
  }

 private:
  ComputePool* const pool_;
  const void* const owner_;
  bool is_here_ = false;
};

}  // namespace weir
