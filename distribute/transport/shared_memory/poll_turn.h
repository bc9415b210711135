// Whose turn it is to look at a process's links.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir {

// One thread has the turn at a time. Between two looks it pauses, and others may take the turn over: a thread that lost
// the processor meanwhile keeps it from nobody. What whoever has the turn has written, the next one sees. Thread-safe.
class PollTurn {
 public:
  using Id = uint64_t;
  static constexpr Id kNone = 0;

  // kNone: another thread has the turn.
  Id TryBegin() {
    uint64_t state = 0;
    const Id id = NewId();
    return state_.compare_exchange_strong(state, id) ? id : kNone;
  }
  // The same, but that a thread which pauses loses the turn.
  Id TryTakeOver() {
    uint64_t state = state_.load(std::memory_order_relaxed);
    if (state != 0 && (state & kPauses) == 0) return kNone;
    const Id id = NewId();
    return state_.compare_exchange_strong(state, id) ? id : kNone;
  }
  void Pause(Id id) { state_.store(id | kPauses); }
  // False: another thread has taken the turn over since Pause.
  bool Resume(Id id) {
    uint64_t state = id | kPauses;
    return state_.compare_exchange_strong(state, id);
  }
  // Not while it pauses.
  void End() { state_.store(0); }

 private:
  static constexpr uint64_t kPauses = 1;

  Id NewId() { return ids_.fetch_add(2, std::memory_order_relaxed); }

  std::atomic<uint64_t> ids_{2};
  std::atomic<uint64_t> state_{0};
};

}  // namespace weir
