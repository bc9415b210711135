// Rows that are named by indices are rarely in a cache: asks the processor for those that a loop comes to soon.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weir {

// Of rows of `row_bytes` from `base` on, in the order of indices[0 .. count).
class RowPrefetch {
 public:
  RowPrefetch(const void* base, int64_t row_bytes, const int64_t* indices, int64_t count)
      : base_(static_cast<const char*>(base)), row_bytes_(row_bytes), indices_(indices), count_(count) {}

  // The loop is at index `i`.
  void At(int64_t i) const {
    if (i + kAhead >= count_) return;
    const char* const row = base_ + indices_[i + kAhead] * row_bytes_;
    for (int64_t at = 0; at < std::min(row_bytes_, kMostBytes); at += kLine) __builtin_prefetch(row + at);
  }

 private:
  static constexpr int64_t kAhead = 8, kLine = 64;
  static constexpr int64_t kMostBytes = 512;  // the processor sees by itself how longer rows go on

  const char* const base_;
  const int64_t row_bytes_;
  const int64_t* const indices_;
  const int64_t count_;
};

}  // namespace weir
