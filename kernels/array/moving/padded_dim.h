// One dimension of a padded tensor. For host compilers and for nvcc.
#pragma once

#include <cstdint>

#include "kernels/device/device_code.h"

namespace weir {

// What lies at index i of the output comes from index Source(i) of the input, or is the padding value where that is
// negative.
struct PaddedDim {
  enum class Frame { kValue, kReflect, kSymmetric };

  int64_t n, before, wide;
  Frame frame;

  WEIR_DEVICE_CODE int64_t Source(int64_t i) const {
    const int64_t at = i - before, edge = frame == Frame::kReflect ? 1 : 0;
    if (at >= 0 && at < n) return at;
    if (frame == Frame::kValue) return -1;
    return at < 0 ? -at - 1 + edge : 2 * n - 1 - edge - at;
  }
};

}  // namespace weir
