// The turn to poll a process's links.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir {

// One thread has the turn at a time. Thread-safe.
// - The thread pauses between two polls, and others may then take over the turn; so a thread that lost its processor
//   does not hold up polling.
// - Writes of one holder are visible to the next.
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
  // As TryBegin, but also takes the turn from a thread that pauses.
  Id TryTakeOver() {
    uint64_t state = state_.load(std::memory_order_relaxed);
    if (state != 0 && (state & kPauses) == 0) return kNone;
    const Id id = NewId();
    return state_.compare_exchange_strong(state, id) ? id : kNone;
  }
  void Pause(Id id) { state_.store(id | kPauses); }
  // False if another thread has taken over the turn since Pause.
  bool Resume(Id id) {
    uint64_t state = id | kPauses;
    return state_.compare_exchange_strong(state, id);
  }
  // Must not be called while paused.
  void End() { state_.store(0); }

 private:
  static constexpr uint64_t kPauses = 1;

  Id NewId() { return ids_.fetch_add(2, std::memory_order_relaxed); }

  std::atomic<uint64_t> ids_{2};
  std::atomic<uint64_t> state_{0};
};

}  // namespace weir
