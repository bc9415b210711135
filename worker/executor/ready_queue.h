// The ready nodes of one thread in one step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weir {

struct Iteration;

struct Ready {
  uint32_t node = 0;
  bool is_dead = false;
  bool was_put_aside = false;
  Iteration* iteration = nullptr;  // framed plans
};

// Not thread-safe.
// - Nodes are taken last in, first out. Costly nodes are set aside until the cheap ones are done; then they are taken
//   first in, first out, or given to another thread.
// - A loop may make nodes ready indefinitely. So after every kTurn nodes the oldest waiting node and a costly one come
//   first.
class ReadyQueue {
 public:
  static constexpr uint32_t kTurn = 128;

  bool empty() const { return cheap_.empty() && num_costly() == 0; }
  void reserve(size_t nodes) { cheap_.reserve(nodes); }
  void Push(uint32_t node, bool is_dead = false, Iteration* iteration = nullptr) {
    cheap_.push_back({.node = node, .is_dead = is_dead, .iteration = iteration});
  }
  void PutAside(Ready ready, uint32_t nanos) {
    ready.was_put_aside = true;
    costly_.push_back({ready, nanos});
    costly_nanos_ += nanos;
  }

  // Counts a node about to be taken. True if it is the turn of waiting nodes.
  bool IsTurnOfWaiting() {
    if (++taken_ % kTurn != 0) return false;
    if (!cheap_.empty()) std::swap(cheap_[taken_ / kTurn % cheap_.size()], cheap_.back());
    return true;
  }
  bool has_cheap() const { return !cheap_.empty(); }
  Ready TakeCheap() {
    const Ready ready = cheap_.back();
    cheap_.pop_back();
    return ready;
  }
  size_t num_costly() const { return costly_.size() - first_costly_; }
  uint64_t costly_nanos() const { return costly_nanos_; }
  Ready TakeCostly() { return NextCostly().ready; }
  // Takes the half that has waited longest.
  ReadyQueue TakeHalfOfCostly() {
    ReadyQueue half;
    for (size_t n = (num_costly() + 1) / 2; n > 0; --n) {
      const Costly next = NextCostly();
      half.PutAside(next.ready, next.nanos);
    }
    return half;
  }

 private:
  struct Costly {
    Ready ready;
    uint32_t nanos;
  };

  Costly NextCostly() {
    const Costly next = costly_[first_costly_++];
    costly_nanos_ -= next.nanos;
    // Taken entries are erased once they are half of the queue: a loop may never empty it.
    if (first_costly_ >= num_costly()) {
      costly_.erase(costly_.begin(), costly_.begin() + static_cast<std::ptrdiff_t>(first_costly_));
      first_costly_ = 0;
    }
    return next;
  }

  std::vector<Ready> cheap_;
  std::vector<Costly> costly_;  // starting at first_costly_
  size_t first_costly_ = 0;
  uint64_t costly_nanos_ = 0;
  uint32_t taken_ = 0;
};

}  // namespace weir
