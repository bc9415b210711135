// The blocking threads of a WorkQueue.
#pragma once

#include <deque>
#include <list>
#include <string>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "core/mutex.h"

namespace weir {

// Starts a thread when no idle one can take a task, up to a limit beyond which tasks queue up. Threads that stay idle
// for long end. Thread-safe. The destructor runs all scheduled tasks.
class BlockingPool {
 public:
  using Task = absl::AnyInvocable<void()>;

  BlockingPool(std::string name, int max_threads) : name_(std::move(name)), max_threads_(max_threads) {}
  ~BlockingPool();

  void Schedule(Task task);

 private:
  using Threads = std::list<std::thread>;

  void StartThread() REQUIRES(mu_);
  void Run(Threads::iterator self);
  void JoinFinished(Threads finished);

  const std::string name_;
  const int max_threads_;
  Mutex mu_;
  std::condition_variable work_;
  std::condition_variable thread_ended_;
  std::deque<Task> queue_ GUARDED_BY(mu_);
  Threads threads_ GUARDED_BY(mu_);
  Threads finished_ GUARDED_BY(mu_);  // ended, to be joined
  int idle_ GUARDED_BY(mu_) = 0;      // waiting for a task
  bool stopping_ GUARDED_BY(mu_) = false;
};

}  // namespace weir
