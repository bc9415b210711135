// A call that waits for the calls of other tasks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/cancellation.h"
#include "core/timer_queue.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// It ends once: by an answer, when its caller cancels it, or shortly before its deadline, so that the caller still gets
// to know why. Not thread-safe: the lock of the table that keeps it guards it.
class WaitingCall {
 public:
  using DoneCallback = std::function<void(absl::Status)>;
  // `cancelled` is what the caller's cancellation says; nullopt: it is time.
  using GiveUp = std::function<void(std::optional<absl::Status> cancelled)>;

  WaitingCall(std::string device, DoneCallback done) : device_(std::move(device)), done_(std::move(done)) {}

  const std::string& device() const { return device_; }
  // From now on `give_up` runs, from any thread and with no lock held, when the wait is over for this call: it takes
  // the call from its table, if it is still there, and Ends it. What the caller's cancellation says, if that has begun:
  // `give_up` does not run then. `timers` may be null and outlives the call.
  absl::Status Watch(const CallOptions& options, TimerQueue* timers, const GiveUp& give_up);
  // With no lock held.
  void End(const absl::Status& status);

 private:
  std::string device_;
  DoneCallback done_;
  CancellationManager* cancellation_ = nullptr;
  CancellationManager::Token token_ = CancellationManager::kInvalidToken;
  TimerQueue* timers_ = nullptr;
  TimerQueue::Token timer_;
};

// One that a table keeps, and where its answer goes.
template <typename Response>
struct Waiter {
  int64_t id = 0;
  WaitingCall call;
  Response* response = nullptr;
};

// What some calls get once the table's lock is let go.
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
