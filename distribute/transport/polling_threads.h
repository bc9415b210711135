// Threads that drive a gRPC completion queue.
#pragma once

#include <list>
#include <thread>

#include <grpcpp/completion_queue.h>

#include "core/mutex.h"

namespace weir {

// What every tag of a queue driven by PollingThreads points to.
class CompletionEvent {
 public:
  virtual ~CompletionEvent() = default;
  // Runs once per completion, on a polling thread; it may delete the event.
  virtual void Complete(bool ok) = 0;
  // Whether Complete may compute or block for long. Then other threads go on polling meanwhile.
  virtual bool MayBlock() const { return true; }
  // Runs instead of Complete where there is no other thread to go on polling: what waits here may wait for ever.
  virtual void CompleteAlone(bool ok) { Complete(ok); }
};

// Leader and followers: the thread that takes an event runs it at once, with no hop to another thread, and first makes
// sure that somebody goes on polling. So a handler may block, and even wait for another call on the same queue. Threads
// grow with need up to a limit, or to what the system gives; the last one tells its events that it is the last. Spare
// ones end.
// The queue must outlive this object and be shut down before it is destroyed. Not destroyed on one of its own threads.
class PollingThreads {
 public:
  struct Options {
    int spare = 8;  // threads kept waiting in the queue
    int max = 1024;
  };

  PollingThreads(grpc::CompletionQueue* queue, Options options);
  ~PollingThreads();  // returns when the queue is drained

 private:
  bool Start() REQUIRES(mu_);
  void Poll(std::list<std::thread>::iterator self);
  bool LeavePolling();  // false: nobody else would poll
  bool RejoinPolling(std::list<std::thread>::iterator self);
  void End(std::list<std::thread>::iterator self);

  grpc::CompletionQueue* const queue_;
  const Options options_;
  Mutex mu_;
  std::condition_variable all_ended_;
  int polling_ GUARDED_BY(mu_) = 0;
  std::list<std::thread> threads_ GUARDED_BY(mu_);
  std::list<std::thread> ended_ GUARDED_BY(mu_);  // to be joined
};

}  // namespace weir
