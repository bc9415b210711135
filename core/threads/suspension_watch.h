// Notices that the process stood still: SIGSTOP, a debugger, a suspended machine.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <optional>
#include <thread>

#include "absl/time/time.h"
#include "core/mutex.h"
#include "core/status.h"

namespace weir {

// The times of a process that may stand still. Thread-safe; has no clock and no thread of its own.
class SuspensionRecord {
 public:
  // `limit`: how long a process may stand still unnoticed; `settling`: how long after its return it is fenced.
  SuspensionRecord(absl::Duration limit, absl::Duration settling, int64_t now_nanos)
      : limit_nanos_(absl::ToInt64Nanoseconds(limit)),
        settling_nanos_(absl::ToInt64Nanoseconds(settling)),
        beat_nanos_(now_nanos) {}

  // Call it often. The time since the last call, if it is above the limit: the process stood still.
  std::optional<absl::Duration> Beat(int64_t now_nanos);
  // Whether the process stood still and has not settled yet, even if no Beat has noticed it.
  bool IsFenced(int64_t now_nanos) const {
    return now_nanos - beat_nanos_.load(std::memory_order_acquire) > limit_nanos_ ||
           now_nanos < fenced_until_nanos_.load(std::memory_order_acquire);
  }

 private:
  const int64_t limit_nanos_, settling_nanos_;
  std::atomic<int64_t> beat_nanos_;
  std::atomic<int64_t> fenced_until_nanos_{0};
};

// Fences a task that was suspended so long that its peers may have taken it for dead. They have failed its steps then,
// so neither a running step nor one still queued in a socket or ring may take effect. Thread-safe.
class SuspensionWatch {
 public:
  struct Options {
    // Below the time in which peers find a hung task: 3 s after a ping (distribute/transport/grpc_channel.h), or 4.75 s
    // of silence on a link.
    absl::Duration limit = absl::Seconds(2.5);
    absl::Duration settling = absl::Seconds(1);
    // Runs on the watch's thread after a return, with the time that the process stood still.
    std::function<void(absl::Duration)> returned;
  };
  explicit SuspensionWatch(Options options);
  ~SuspensionWatch();
  SuspensionWatch(const SuspensionWatch&) = delete;

  // UNAVAILABLE while the task is fenced. Cheap: reads a clock and two numbers.
  absl::Status Check() const;

 private:
  void Watch();

  const Options options_;
  SuspensionRecord record_;
  Mutex mu_;
  std::condition_variable changed_;
  bool stopping_ GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace weir
