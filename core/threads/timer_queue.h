// Timers without a thread each.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/mutex.h"

namespace weir {

// Runs callbacks at given times on one thread, which starts with the first timer. Thread-safe. Callbacks must be short
// and run with no lock held. The destructor drops pending callbacks and waits for one in progress.
class TimerQueue {
 public:
  using Token = std::pair<absl::Time, int64_t>;

  TimerQueue() = default;
  ~TimerQueue();
  TimerQueue(const TimerQueue&) = delete;

  Token Schedule(absl::Time when, std::function<void()> callback);
  // After it returns the callback is not running and will not run, unless called from that callback itself.
  void Cancel(const Token& token);

 private:
  void Loop();

  Mutex mu_;
  std::condition_variable changed_;
  std::map<Token, std::function<void()>> timers_ GUARDED_BY(mu_);
  // The time the thread sleeps until; in the past while it is awake. Not changed when the timer of that time is
  // cancelled: each step sets and cancels a deadline, and waking the thread each time would cost more than the step.
  absl::Time wakes_at_ GUARDED_BY(mu_) = absl::InfinitePast();
  int64_t next_id_ GUARDED_BY(mu_) = 0;
  int64_t running_id_ GUARDED_BY(mu_) = -1;
  bool stopping_ GUARDED_BY(mu_) = false;
  std::thread thread_ GUARDED_BY(mu_);
};

}  // namespace weir
