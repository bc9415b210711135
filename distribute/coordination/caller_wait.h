// Waits for a condition, with the caller's deadline and cancellation.
#pragma once

#include <condition_variable>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "core/status.h"
#include "core/threads/cancellation.h"
#include "distribute/transport/worker_interface.h"

namespace weir::coordination {

// CANCELLED, with the reason of the cancellation.
inline absl::Status CancelledBy(const CancellationManager& manager) {
  return absl::CancelledError(manager.status().message());
}

// CANCELLED or DEADLINE_EXCEEDED if the caller no longer waits.
inline absl::Status CheckCaller(const CallOptions& options) {
  if (options.cancellation != nullptr && options.cancellation->IsCancelled()) {
    return CancelledBy(*options.cancellation);
  }
  if (MonotonicNow() >= options.deadline) return errors::DeadlineExceeded("The deadline has passed");
  return absl::OkStatus();
}

// Construct it before locking `mu`, because it must be destroyed after unlocking:
//   CallerWait wait(options, mu_, changed_);
//   MutexLock lock(mu_);
//   while (!ready_) RETURN_IF_ERROR(wait.Next(lock));
class CallerWait {
 public:
  CallerWait(const CallOptions& options, Mutex& mu, std::condition_variable& changed)
      : options_(options), changed_(changed) {
    if (options.cancellation == nullptr) return;
    token_ = options.cancellation->Register([&mu, &changed] {
      { MutexLock lock(mu); }
      changed.notify_all();
    });
  }
  ~CallerWait() {
    if (token_ != CancellationManager::kInvalidToken) options_.cancellation->Deregister(token_);
  }
  CallerWait(const CallerWait&) = delete;

  // Waits for one notification.
  absl::Status Next(MutexLock& lock) {
    RETURN_IF_ERROR(CheckCaller(options_));
    if (options_.deadline == absl::InfiniteFuture()) {
      lock.Wait(changed_);
    } else {
      lock.WaitUntil(changed_, ToSteady(options_.deadline));
    }
    return absl::OkStatus();
  }

 private:
  const CallOptions options_;
  std::condition_variable& changed_;
  CancellationManager::Token token_ = CancellationManager::kInvalidToken;
};

}  // namespace weir::coordination
