// The nodes that one thread has at hand in one step.
#pragma once

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

// Not thread-safe. Nodes are taken last in, first out; costly ones are put aside until the cheap ones are done, and
// may then be handed to another thread. A loop makes nodes ready without end: after every kTurn nodes one that waited
// below, and a costly one, come first.
struct ReadyQueue {
  static constexpr uint32_t kTurn = 128;

  struct Costly {
    Ready ready;
    uint32_t nanos;
  };

  bool empty() const { return cheap.empty() && costly.empty(); }
  void Push(uint32_t node, bool is_dead = false, Iteration* iteration = nullptr) {
    cheap.push_back({.node = node, .is_dead = is_dead, .iteration = iteration});
  }
  // Counts a node that is about to be taken. True: it is the turn of those that wait.
  bool IsTurnOfWaiting() {
    if (++taken % kTurn != 0) return false;
    const uint32_t turn = taken / kTurn;
    if (!cheap.empty()) std::swap(cheap[turn % cheap.size()], cheap.back());
    if (!costly.empty()) std::swap(costly[turn % costly.size()], costly.back());
    return true;
  }
  void PutAside(Ready ready, uint32_t nanos) {
    ready.was_put_aside = true;
    costly.push_back({ready, nanos});
    costly_nanos += nanos;
  }
  Ready TakeCostly() {
    const Costly taken = costly.back();
    costly.pop_back();
    costly_nanos -= taken.nanos;
    return taken.ready;
  }
  void Clear() {
    cheap.clear();
    costly.clear();
    costly_nanos = 0;
  }

  std::vector<Ready> cheap;
  std::vector<Costly> costly;
  uint64_t costly_nanos = 0;
  uint32_t taken = 0;
};

}  // namespace weir
