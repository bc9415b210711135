// The levels that a few bits can hold. For host compilers and for nvcc.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/device/device_code.h"

namespace weir {

// A range moved so that zero is one of its levels.
struct FakeQuantLevels {
  // `least` and `most` of a range that holds zero, 2^bits levels (one fewer where narrow). Levels are counted by a
  // division or by multiplying with its inverse: they differ in the last bit, and so in the way that halves go.
  WEIR_DEVICE_CODE FakeQuantLevels(float least, float most, int64_t bits, bool narrow, bool by_division)
      : divides(by_division) {
    const float first = narrow ? 1 : 0, last = static_cast<float>((int64_t{1} << bits) - 1);
    step = (most - least) / (last - first);
    per_unit = (last - first) / (most - least);
    const float zero = first - least / step;
    const float nudged = zero < first ? first : zero > last ? last : std::round(zero);
    low = (first - nudged) * step;
    high = (last - nudged) * step;
    levels_below_zero = std::floor(Count(-low) + 0.5f);
  }
  // Levels are counted from zero, which is then exactly one of them; halves go the way that they go in TensorFlow.
  WEIR_DEVICE_CODE float operator()(float x) const {
    const float capped = high < x ? high : x, inside = capped < low ? low : capped;
    return std::floor(Count(inside - low) - levels_below_zero + 0.5f) * step;
  }
  WEIR_DEVICE_CODE float Count(float length) const { return divides ? length / step : length * per_unit; }
  WEIR_DEVICE_CODE bool Inside(float x) const { return x >= low && x <= high; }

  float low, high, step, per_unit, levels_below_zero;
  bool divides;
};

}  // namespace weir
