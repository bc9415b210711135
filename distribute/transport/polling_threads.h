// Threads that drive a gRPC completion queue.
#pragma once

#include <list>
#include <thread>

#include <grpcpp/completion_queue.h>

#include "core/mutex.h"
#include "core/status.h"

namespace weir {

// Every tag of a queue driven by PollingThreads points to one.
class CompletionEvent {
 public:
  virtual ~CompletionEvent() = default;
  // Runs once per completion, on a polling thread. May delete the event.
  virtual void Complete(bool ok) = 0;
  // True if Complete may compute or block for long: another thread polls meanwhile.
  virtual bool MayBlock() const { return true; }
  // Runs instead of Complete if no other thread can poll: an event that waits here may wait indefinitely.
  virtual void CompleteAlone(bool ok) { Complete(ok); }
};

// Drives a completion queue by leader and followers: the thread that takes an event runs it at once, after it has made
// sure that another thread polls.
// - Handlers may block, and may even wait for another call on the same queue.
// - Threads are added as needed, up to a limit of ours or the system's; events that run on the last one are notified.
//   Spare threads end.
// - The queue must outlive this object and be shut down before it is destroyed. Not to be destroyed on one of its own
//   threads.
class PollingThreads {
 public:
  struct Options {
    int spare = 8;  // idle threads kept in the queue
    int max = 1024;
  };

  PollingThreads(grpc::CompletionQueue* queue, Options options);
  ~PollingThreads();  // returns when the queue is drained
  // RESOURCE_EXHAUSTED if the system gave no thread: nobody drives the queue then.
  const absl::Status& status() const { return status_; }

 private:
  bool Start() REQUIRES(mu_);
  void Poll(std::list<std::thread>::iterator self);
  bool LeavePolling();  // false: no other thread would poll
  bool RejoinPolling(std::list<std::thread>::iterator self);
  void End(std::list<std::thread>::iterator self);

  grpc::CompletionQueue* const queue_;
  const Options options_;
  absl::Status status_;  // set by the constructor
  Mutex mu_;
  std::condition_variable all_ended_;
  int polling_ GUARDED_BY(mu_) = 0;
  std::list<std::thread> threads_ GUARDED_BY(mu_);
  std::list<std::thread> ended_ GUARDED_BY(mu_);  // to be joined
};

}  // namespace weir
