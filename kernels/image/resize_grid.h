// The positions in an image that a resized one reads, along one dimension. For host compilers and for nvcc.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/device/device_code.h"

namespace weir {

// How output coordinates become input coordinates.
struct ResizeGrid {
  static ResizeGrid Of(int64_t in, int64_t out, bool align_corners, bool half_pixel) {
    return {in, out, align_corners, half_pixel,
            align_corners && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                     : static_cast<float>(in) / static_cast<float>(out)};
  }
  WEIR_DEVICE_CODE float At(int64_t i) const {
    const float x = static_cast<float>(i);
    return centers ? (x + 0.5f) * scale - 0.5f : x * scale;
  }
  WEIR_DEVICE_CODE int64_t Clamp(int64_t i) const {
    const int64_t least = i < 0 ? 0 : i;
    return least < in - 1 ? least : in - 1;
  }
  // The input that stands for output i.
  WEIR_DEVICE_CODE int64_t Nearest(int64_t i) const {
    const float at = centers ? (static_cast<float>(i) + 0.5f) * scale : At(i);
    return Clamp(static_cast<int64_t>(corners ? std::round(at) : std::floor(at)));
  }
  // The two inputs that output i lies between, which may be one, and the share of the second.
  struct Between {
    int64_t low, high;
    float share;
  };
  WEIR_DEVICE_CODE Between Linear(int64_t i) const {
    const float at = At(i), floor = std::floor(at);
    return {Clamp(static_cast<int64_t>(floor)), Clamp(static_cast<int64_t>(std::ceil(at))), at - floor};
  }

  int64_t in, out;
  bool corners, centers;
  float scale;
};

}  // namespace weir
