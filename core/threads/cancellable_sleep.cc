#include "core/threads/cancellable_sleep.h"

#include <condition_variable>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/mutex.h"

namespace weir {

absl::Status SleepUntil(absl::Time until, CancellationManager* cancellation) {
  Mutex mu;
  std::condition_variable cancelled;
  bool fired = false;
  CancellationManager::Token token = CancellationManager::kInvalidToken;
  if (cancellation != nullptr) {
    token = cancellation->Register([&] {
      MutexLock lock(mu);
      fired = true;
      cancelled.notify_all();
    });
    if (token == CancellationManager::kInvalidToken) return cancellation->status();
  }
  {
    MutexLock lock(mu);
    while (!fired && MonotonicNow() < until) lock.WaitUntil(cancelled, ToSteady(until));
  }
  if (cancellation != nullptr) cancellation->Deregister(token);
  return fired ? cancellation->status() : absl::OkStatus();
}

}  // namespace weir
