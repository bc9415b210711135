// The positions in an image that a crop reads, along one dimension. For host compilers and for nvcc.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/device/device_code.h"

namespace weir {

// One side of a box of normalised corners, of `crop` elements, in an image of `size`.
struct CropSide {
  // Where element i lies.
  WEIR_DEVICE_CODE float At(int64_t i) const {
    const float last = static_cast<float>(size - 1);
    if (crop == 1) return 0.5f * (low + high) * last;
    return low * last + static_cast<float>(i) * ((high - low) * last / static_cast<float>(crop - 1));
  }
  // False for NaN.
  WEIR_DEVICE_CODE bool Inside(float at) const { return at >= 0 && at <= static_cast<float>(size - 1); }

  // The elements of the image that `at`, which is inside, lies between, and the share of the second.
  struct Between {
    int64_t first, second;
    float share;
  };
  // Large sizes round to the same float: the last element's float may name one behind it.
  WEIR_DEVICE_CODE int64_t Element(float at) const {
    const int64_t i = static_cast<int64_t>(at);
    return i < size ? i : size - 1;
  }
  WEIR_DEVICE_CODE Between Find(float at, bool nearest) const {
    if (nearest) {
      const int64_t closest = Element(std::round(at));
      return {closest, closest, 0.0f};
    }
    const float floor = std::floor(at);
    return {Element(floor), Element(std::ceil(at)), at - floor};
  }

  // d(At(i)) / d(low) and d(high).
  struct Slopes {
    float low, high;
  };
  WEIR_DEVICE_CODE Slopes SlopesAt(int64_t i) const {
    const float last = static_cast<float>(size - 1);
    if (crop == 1) return {0.5f * last, 0.5f * last};
    const float share = static_cast<float>(i) * last / static_cast<float>(crop - 1);
    return {last - share, share};
  }

  float low, high;
  int64_t size, crop;
};

}  // namespace weir
