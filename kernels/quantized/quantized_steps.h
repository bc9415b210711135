// Numbers rounded to what a few bits can count. For host compilers and for nvcc.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "kernels/device/device_code.h"

namespace weir {

// Steps of one size from zero on, such that one end of a range is the last of them on its side. T is float or double.
template <typename T>
struct QuantizedSteps {
  WEIR_DEVICE_CODE QuantizedSteps(T least, T most, int64_t bits, bool is_signed, bool narrow) : low(least), high(most) {
    const int64_t half = int64_t{1} << (bits - 1);
    const T low_steps = static_cast<T>(is_signed ? (narrow ? -half + 1 : -half) : 0);
    const T high_steps = static_cast<T>(is_signed ? half - 1 : 2 * half - 1);
    const T largest = static_cast<T>(sizeof(T) == sizeof(float) ? FLT_MAX : DBL_MAX);
    const T from_low = low_steps * least > 0 ? low_steps / least : largest;
    const T from_high = high_steps * most > 0 ? high_steps / most : largest;
    if (from_low < from_high) {
      scale = from_low;
      inverse = least / low_steps;
      high = high_steps * inverse;
    } else {
      scale = from_high;
      inverse = most / high_steps;
      low = low_steps * inverse;
    }
  }
  // Halves go up, or to the even one.
  WEIR_DEVICE_CODE T operator()(T x, bool clamps, bool half_up) const {
    if (clamps) {
      const T capped = high < x ? high : x;
      x = capped < low ? low : capped;
    }
    return (half_up ? std::floor(x * scale + T(0.5)) : Nearest(x * scale)) * inverse;
  }
  WEIR_DEVICE_CODE static T Nearest(T x) {
#if defined(__CUDA_ARCH__)
    return static_cast<T>(rint(x));
#else
    return std::nearbyint(x);
#endif
  }

  T low, high, scale, inverse;
};

}  // namespace weir
