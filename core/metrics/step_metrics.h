// Counts steps by how they end, and how long they take.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "core/metrics/counter.h"

namespace weir {

// Thread-safe. A step costs a few atomic additions, and two looks at the clock if times are measured.
class StepMetrics {
 public:
  static constexpr int kCodes = static_cast<int>(absl::StatusCode::kUnauthenticated) + 1;
  struct Snapshot {
    uint64_t started = 0;
    std::array<uint64_t, kCodes> ended = {};  // by absl::StatusCode
    DurationHistogram::Snapshot seconds;

    uint64_t EndedOfAll() const {
      uint64_t sum = 0;
      for (const uint64_t count : ended) sum += count;
      return sum;
    }
    // Not negative, although the figures may be of different moments.
    uint64_t Running() const { return started - std::min(started, EndedOfAll()); }
  };

  // Off at first: nobody reads the times of sessions without a server.
  void MeasureTimes() { measures_times_.store(true, std::memory_order_relaxed); }

  // Returns what End expects.
  absl::Time Start() {
    started_.Add();
    return measures_times_.load(std::memory_order_relaxed) ? MonotonicNow() : absl::InfinitePast();
  }
  void End(absl::StatusCode code, absl::Time start) {
    const int known = static_cast<int>(code);
    ended_[known >= 0 && known < kCodes ? known : static_cast<int>(absl::StatusCode::kUnknown)].Add();
    if (start != absl::InfinitePast()) seconds_.Add(MonotonicNow() - start);
  }

  Snapshot Get() const {
    Snapshot snapshot;
    for (int i = 0; i < kCodes; ++i) snapshot.ended[i] = ended_[i].value();
    snapshot.started = started_.value();
    snapshot.seconds = seconds_.Get();
    return snapshot;
  }

 private:
  std::atomic<bool> measures_times_{false};
  EventCounter started_;
  std::array<EventCounter, kCodes> ended_;
  DurationHistogram seconds_;
};

}  // namespace weir
