// The clocks of tasks relative to one of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weir {

// One reading of a task's clock by another task, in nanoseconds: `clock` was read between `called` and `answered`,
// which are times of the reader's clock.
struct ClockReading {
  int64_t called = 0;
  int64_t clock = 0;
  int64_t answered = 0;
};

// A task's clock minus the reference clock, within +-error_nanos. Not known: the task never answered.
struct ClockOffset {
  bool is_known = false;
  int64_t offset_nanos = 0;
  int64_t error_nanos = 0;
  int64_t round_trip_nanos = 0;  // of the reading that was used
};

// Estimates offsets as NTP does: the reading with the shortest round trip counts, and its error is at most half of
// that. If other readings contradict it, because the clocks drift or one has jumped, the error grows by as much. Not
// thread-safe.
class TaskClocks {
 public:
  // `reference`: the task whose clock the others are compared with.
  explicit TaskClocks(std::string reference) : reference_(std::move(reference)) {}

  // Readings without sense, from a faulty peer, are ignored.
  void Add(const std::string& task, const ClockReading& reading);
  ClockOffset OffsetOf(const std::string& task) const;
  // A time of the task's clock as one of the reference clock; unchanged if the offset is not known.
  int64_t ToReference(const std::string& task, int64_t nanos) const;
  const std::string& reference() const { return reference_; }

 private:
  // Offsets that a reading allows.
  struct Interval {
    int64_t low = 0, high = 0;
  };
  struct Task {
    Interval best;            // the shortest
    int64_t lowest_high = 0;  // of all intervals
    int64_t highest_low = 0;
  };
  const std::string reference_;
  std::map<std::string, Task> tasks_;
};

}  // namespace weir
