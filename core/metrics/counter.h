// Numbers that only grow, cheap enough to count every step and call.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "absl/time/time.h"

namespace weir {

// Thread-safe.
class EventCounter {
 public:
  void Add(uint64_t count = 1) { value_.fetch_add(count, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// Counts durations in buckets whose bounds double. Thread-safe; readers may see a duration in one figure of a snapshot
// and not yet in another.
class DurationHistogram {
 public:
  // From 16 µs to 134 s; the last bucket has no bound.
  static constexpr int kBuckets = 25;
  static constexpr double UpperBoundSeconds(int bucket) { return 16e-6 * static_cast<double>(int64_t{1} << bucket); }
  struct Snapshot {
    std::array<uint64_t, kBuckets> counts = {};
    double sum_seconds = 0;
  };

  // A negative duration counts as zero.
  void Add(absl::Duration duration) {
    const int64_t nanos = std::max<int64_t>(absl::ToInt64Nanoseconds(duration), 0);
    counts_[BucketOf(nanos)].Add();
    sum_nanos_.Add(static_cast<uint64_t>(nanos));
  }
  Snapshot Get() const {
    Snapshot snapshot;
    for (int i = 0; i < kBuckets; ++i) snapshot.counts[i] = counts_[i].value();
    snapshot.sum_seconds = static_cast<double>(sum_nanos_.value()) * 1e-9;
    return snapshot;
  }

 private:
  static int BucketOf(int64_t nanos) {
    constexpr int kFirstBits = 4;  // 16 µs
    const uint64_t micros = (static_cast<uint64_t>(nanos) + 999) / 1000;
    const int bits = micros == 0 ? 0 : static_cast<int>(std::bit_width(micros - 1));
    return std::clamp(bits - kFirstBits, 0, kBuckets - 1);
  }

  std::array<EventCounter, kBuckets> counts_;
  EventCounter sum_nanos_;
};

}  // namespace weir
