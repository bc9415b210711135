// Splitting a kernel's elements over the device's threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/kernel/op_kernel.h"

// Before a loop in which no iteration reads what another writes, though input and output may be the same memory.
#define WEIR_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")

namespace weir {

// Calls fn(begin, end) over ranges that cover [0, total). `picoseconds` is the cost of one element; work that would not
// repay the waking of a thread runs here, without the price of a std::function.
template <typename Fn>
void ParallelRanges(OpKernelContext& ctx, int64_t total, int64_t picoseconds, Fn&& fn) {
  constexpr int64_t kWorthSharing = 40'000'000;  // 40 us
  constexpr int64_t kBlock = 1'000'000;          // 1 us
  if (total <= 1 || total < kWorthSharing / std::max<int64_t>(picoseconds, 1)) {
    if (total > 0) fn(int64_t{0}, total);
    return;
  }
  const int64_t block = std::max<int64_t>(1, kBlock / std::max<int64_t>(picoseconds, 1));
  const int64_t blocks = (total + block - 1) / block;
  const int64_t cost = std::max<int64_t>(1, std::min(block, total) * picoseconds / 1000);
  ctx.work_queue()->ParallelFor(blocks, cost,
                                [&](int64_t begin, int64_t end) { fn(begin * block, std::min(total, end * block)); });
}

}  // namespace weir
