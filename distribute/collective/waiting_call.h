// A call that waits for calls of other tasks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "core/threads/cancellation.h"
#include "core/threads/timer_queue.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// A waiting call gets its answer this long before its deadline.
inline constexpr absl::Duration kWaitingAnswerTime = absl::Milliseconds(500);

// Ends once: with an answer, when its caller cancels it, or shortly before its deadline, so that the caller still
// learns why. Not thread-safe: the lock of its table guards it.
class WaitingCall {
 public:
  using DoneCallback = std::function<void(absl::Status)>;
  // `cancelled` is the caller's cancellation status; nullopt: the deadline is near.
  using GiveUp = std::function<void(std::optional<absl::Status> cancelled)>;

  WaitingCall(std::string device, DoneCallback done) : device_(std::move(device)), done_(std::move(done)) {}

  const std::string& device() const { return device_; }
  // From now on `give_up` runs, from any thread and with no lock held, when this call's wait is over: it removes the
  // call from its table, if it is still there, and calls End. If the caller has already cancelled, returns that status
  // and `give_up` never runs. `timers` may be null and outlives the call.
  absl::Status Watch(const CallOptions& options, TimerQueue* timers, const GiveUp& give_up);
  // Call with no lock held.
  void End(const absl::Status& status);

 private:
  std::string device_;
  DoneCallback done_;
  CancellationManager* cancellation_ = nullptr;
  CancellationManager::Token token_ = CancellationManager::kInvalidToken;
  TimerQueue* timers_ = nullptr;
  TimerQueue::Token timer_;
};

// A call in a table, with the destination of its answer.
template <typename Response>
struct Waiter {
  int64_t id = 0;
  WaitingCall call;
  Response* response = nullptr;
};

// An answer for several calls, sent after the table's lock is released.
template <typename Response>
struct Answer {
  absl::Status status;
  Response response;
  std::vector<Waiter<Response>> waiters;

  void Give() {
    for (Waiter<Response>& waiter : waiters) {
      if (status.ok()) *waiter.response = response;
      waiter.call.End(status);
    }
  }
};

}  // namespace weir
