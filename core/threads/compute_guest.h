// An outside thread that runs tasks alongside a work queue's compute threads.
#pragma once

#include "absl/functional/function_ref.h"
#include "core/threads/compute_pool.h"
#include "core/threads/work_queue.h"

namespace weir {

// Lets the calling thread take part in a work queue, in place of one of its compute threads.
// - From construction until Leave or destruction, one compute thread fewer runs, so that no more threads compute than
//   there are processors.
// - A caller that runs a step itself is a guest: it helps with the work that it waits for, without waking another
//   thread.
// - Has no effect on a compute thread.
// - Belongs to the thread that created it.
class ComputeGuest {
 public:
  // The guest runs tasks that were scheduled with this `owner` (WorkQueue::Schedule).
  ComputeGuest(WorkQueue& queue, const void* owner)
      : pool_(queue.InComputeThread() ? nullptr : &queue.compute_pool()), owner_(owner) {
    Return();
  }
  ~ComputeGuest() { Leave(); }
  ComputeGuest(const ComputeGuest&) = delete;
  ComputeGuest& operator=(const ComputeGuest&) = delete;

  // Returns a task of this owner, or a share of a parallel loop, to run. Null if done() is true, or if nothing arrived
  // for a while: the guest should then leave and block.
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
