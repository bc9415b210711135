// Learns how long each node takes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

namespace weir {

inline int64_t NowNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Thread-safe. Reading the clock costs as much as a small kernel, so only some steps are measured.
class NodeCosts {
 public:
  explicit NodeCosts(size_t num_nodes) : nanos_(new std::atomic<uint32_t>[num_nodes]()) {}

  // 0 until measured.
  uint32_t nanos(uint32_t node) const { return nanos_[node].load(std::memory_order_relaxed); }
  void Observe(uint32_t node, int64_t nanos) {
    const int64_t old = this->nanos(node);
    const int64_t sample = nanos < kMaxNanos ? (nanos > 0 ? nanos : 1) : kMaxNanos;
    nanos_[node].store(old == 0 ? sample : old + (sample - old) / 4, std::memory_order_relaxed);
  }
  // True if the step that begins now is to be measured: the first ones, then one in 32.
  bool MeasureNextStep() {
    const uint32_t step = steps_.fetch_add(1, std::memory_order_relaxed);
    return step < 4 || step % 32 == 0;
  }

 private:
  static constexpr int64_t kMaxNanos = 4'000'000'000;
  std::unique_ptr<std::atomic<uint32_t>[]> nanos_;
  std::atomic<uint32_t> steps_{0};
};

}  // namespace weir
