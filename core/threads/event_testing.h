// An event for tests.
#pragma once

#include <condition_variable>

#include "absl/time/time.h"
#include "core/clock.h"
#include "core/mutex.h"

namespace weir {

// absl::Notification, but seen by ThreadSanitizer: Abseil's library is not instrumented.
class TestEvent {
 public:
  void Notify() {
    MutexLock lock(mu_);
    has_happened_ = true;
    changed_.notify_all();
  }
  bool HasBeenNotified() const {
    MutexLock lock(mu_);
    return has_happened_;
  }
  // Whether it has happened by then.
  bool WaitForNotificationWithTimeout(absl::Duration timeout) const {
    const absl::Time end = MonotonicNow() + timeout;
    MutexLock lock(mu_);
    while (!has_happened_ && MonotonicNow() < end) lock.WaitUntil(changed_, ToSteady(end));
    return has_happened_;
  }

 private:
  mutable Mutex mu_;
  mutable std::condition_variable changed_;
  bool has_happened_ GUARDED_BY(mu_) = false;
};

}  // namespace weir
