// Size classes of pooled tensor memory: every 64 bytes up to 1 KiB, then eight per doubling (at most 12.5 % is wasted)
// up to 1 GiB.
#pragma once

#include <bit>
#include <cstddef>

#include "core/memory/allocator.h"

namespace weir {

inline constexpr size_t kLinearLimit = 1024;
inline constexpr int kLinearClasses = kLinearLimit / kTensorAlignment;
inline constexpr int kStepsLog2 = 3;
inline constexpr size_t kMaxPooled = size_t{1} << 30;
inline constexpr int kNumClasses = kLinearClasses + (30 - 10) * (1 << kStepsLog2);
inline constexpr size_t kMaxCached = 32 << 10;  // larger blocks are not cached by threads
inline constexpr int kCachedClasses = kLinearClasses + (15 - 10) * (1 << kStepsLog2);

constexpr int ClassOf(size_t bytes) {
  if (bytes <= kTensorAlignment) return 0;
  if (bytes <= kLinearLimit) return static_cast<int>((bytes - 1) / kTensorAlignment);
  const int log2 = std::bit_width(bytes - 1) - 1;  // 2^log2 < bytes <= 2^(log2 + 1), log2 >= 10
  const int step = static_cast<int>((bytes - 1) >> (log2 - kStepsLog2)) & ((1 << kStepsLog2) - 1);
  return kLinearClasses + (log2 - 10) * (1 << kStepsLog2) + step;
}

constexpr size_t ClassSize(int size_class) {
  if (size_class < kLinearClasses) return (size_class + 1) * kTensorAlignment;
  const int log2 = 10 + (size_class - kLinearClasses) / (1 << kStepsLog2);
  const size_t step = (size_class - kLinearClasses) % (1 << kStepsLog2) + 1;
  return (size_t{1} << log2) + (step << (log2 - kStepsLog2));
}
static_assert(ClassSize(kNumClasses - 1) == kMaxPooled && ClassOf(kMaxPooled) == kNumClasses - 1);
static_assert(ClassSize(kCachedClasses - 1) == kMaxCached && ClassOf(kMaxCached) == kCachedClasses - 1);
static_assert(ClassOf(1024) == 15 && ClassOf(1025) == 16 && ClassSize(16) == 1152);

}  // namespace weir
