#include "tools/trace/task_clocks.h"

#include <algorithm>

namespace weir {
namespace {

// About 73 years: sums of a few such times do not overflow.
constexpr int64_t kMostNanos = int64_t{1} << 61;

bool IsSensible(int64_t nanos) { return nanos >= 0 && nanos < kMostNanos; }

}  // namespace

void TaskClocks::Add(const std::string& task, const ClockReading& reading) {
  if (task == reference_ || !IsSensible(reading.called) || !IsSensible(reading.clock) ||
      !IsSensible(reading.answered) || reading.answered < reading.called) {
    return;
  }
  const Interval interval{reading.clock - reading.answered, reading.clock - reading.called};
  const auto [found, is_first] = tasks_.try_emplace(task, Task{interval, interval.high, interval.low});
  Task& known = found->second;
  if (is_first) return;
  if (interval.high - interval.low < known.best.high - known.best.low) known.best = interval;
  known.lowest_high = std::min(known.lowest_high, interval.high);
  known.highest_low = std::max(known.highest_low, interval.low);
}

ClockOffset TaskClocks::OffsetOf(const std::string& task) const {
  if (task == reference_) return {.is_known = true};
  const auto found = tasks_.find(task);
  if (found == tasks_.end()) return {};
  const Task& known = found->second;
  ClockOffset offset{.is_known = true, .round_trip_nanos = known.best.high - known.best.low};
  offset.offset_nanos = known.best.low + offset.round_trip_nanos / 2;
  const int64_t drift =
      std::max({int64_t{0}, known.highest_low - offset.offset_nanos, offset.offset_nanos - known.lowest_high});
  offset.error_nanos = (offset.round_trip_nanos + 1) / 2 + drift;
  return offset;
}

int64_t TaskClocks::ToReference(const std::string& task, int64_t nanos) const {
  const int64_t time = std::clamp(nanos, -kMostNanos, kMostNanos) - OffsetOf(task).offset_nanos;
  return std::clamp(time, -kMostNanos, kMostNanos);
}

}  // namespace weir
