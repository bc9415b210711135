// Threads kept for calls that must be served when all others wait.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "core/mutex.h"
#include "core/status.h"

namespace weir {

// A few threads that exist from Start on, because none may be available when they are needed. Thread-safe.
class ReservedThreads {
 public:
  ReservedThreads() = default;
  ~ReservedThreads();  // runs what is queued
  ReservedThreads(const ReservedThreads&) = delete;

  // RESOURCE_EXHAUSTED if the system does not give that many threads.
  absl::Status Start(int threads);
  // Runs `work` soon, in order of arrival.
  void Run(std::function<void()> work);

 private:
  void Loop();

  Mutex mu_;
  std::condition_variable changed_;
  bool stopping_ GUARDED_BY(mu_) = false;
  std::deque<std::function<void()>> queue_ GUARDED_BY(mu_);
  std::vector<std::thread> threads_;
};

}  // namespace weir
