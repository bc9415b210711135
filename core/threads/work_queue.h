// Compute threads, kept apart from threads that may block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "core/api.h"

namespace WEIR_API weir {

class ComputePool;

// Thread-safe. Tasks never run under a lock of the queue. The destructor runs all scheduled tasks, then joins.
class WorkQueue {
 public:
  struct Options {
    std::string name = "weir";
    int compute_threads = 0;  // 0: one per processor
    int max_blocking_threads = 512;
  };
  static std::unique_ptr<WorkQueue> Create(Options options);
  virtual ~WorkQueue() = default;

  // Runs `task` on a compute thread, or on the thread of a ComputeGuest (core/threads/compute_guest.h) with this owner;
  // it must not wait for other tasks. Never blocks.
  virtual void Schedule(absl::AnyInvocable<void()> task, const void* owner) = 0;
  void Schedule(absl::AnyInvocable<void()> task) { Schedule(std::move(task), nullptr); }
  // Runs `task` on a thread that may block (file I/O, waiting for a queue). Threads are added as needed up to the
  // limit.
  virtual void ScheduleBlocking(absl::AnyInvocable<void()> task) = 0;
  // Calls fn(begin, end) over disjoint ranges that cover [0, total), on this thread and idle compute threads, and
  // returns when all are done. `cost_per_unit` is in nanoseconds: small loops run on the calling thread alone, so that
  // waking a thread pays off. Safe to call from a compute thread.
  virtual void ParallelFor(int64_t total, int64_t cost_per_unit, const std::function<void(int64_t, int64_t)>& fn) = 0;
  virtual int num_threads() const = 0;
  // Whether the caller is one of this queue's compute threads.
  virtual bool InComputeThread() const = 0;
  // The compute threads; for ComputeGuest.
  virtual ComputePool& compute_pool() = 0;
};

}  // namespace weir
