// The clock that ends leases.
#pragma once

#include <functional>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "core/threads/timer_queue.h"

namespace weir::coordination {

// Thread-safe. Tests use a fake one.
class AlarmClock {
 public:
  using Token = TimerQueue::Token;

  virtual ~AlarmClock() = default;

  virtual absl::Time Now() = 0;
  // Callbacks must be short; they run with no lock held, and not from within Schedule.
  virtual Token Schedule(absl::Time when, std::function<void()> callback) = 0;
  // When it returns, the callback is not running and will not run.
  virtual void Cancel(const Token& token) = 0;
};

class SystemAlarmClock : public AlarmClock {
 public:
  absl::Time Now() override { return MonotonicNow(); }
  Token Schedule(absl::Time when, std::function<void()> callback) override {
    return timers_.Schedule(when, std::move(callback));
  }
  void Cancel(const Token& token) override { timers_.Cancel(token); }

 private:
  TimerQueue timers_;
};

}  // namespace weir::coordination
