// Floats as integers, also beyond an integer's range.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/tensor/numeric_types.h"

namespace weir::cast_internal {

// Where C++ leaves the result open, these functions give what TensorFlow's kernels give: a number depends on whether it
// is converted as part of a vector, which saturates, or alone, which drops high bits.

// The least Int for NaN and for what Int cannot hold.
template <typename Int, typename From>
Int Truncate(From x) {
  constexpr From kEnd = -static_cast<From>(std::numeric_limits<Int>::min());
  return x >= -kEnd && x < kEnd ? static_cast<Int>(x) : std::numeric_limits<Int>::min();
}

// Unsigned from two signed conversions: of x, and of x less the first number that they cannot hold.
template <typename Int, typename From>
std::make_unsigned_t<Int> TruncateUnsigned(From x) {
  const Int low = Truncate<Int>(x), high = Truncate<Int>(x + static_cast<From>(std::numeric_limits<Int>::min()));
  return static_cast<std::make_unsigned_t<Int>>(low | (high & (low >> (8 * sizeof(Int) - 1))));
}

template <typename To, typename From>
To ToIntegerAlone(From x) {
  if constexpr (std::is_same_v<To, int32_t> || std::is_same_v<To, int64_t>) {
    return static_cast<To>(x);  // what does not fit becomes the least number, without a comparison
  } else if constexpr (std::is_same_v<To, uint64_t>) {
    return TruncateUnsigned<int64_t>(x);
  } else if constexpr (std::is_same_v<To, uint32_t>) {
    return static_cast<To>(Truncate<int64_t>(x));
  } else {
    return static_cast<To>(Truncate<int32_t>(x));
  }
}

// As one of a vector of `length`.
template <typename To, int64_t length, typename From>
To ToIntegerInVector(From x) {
  if constexpr (std::is_same_v<To, uint32_t>) {
    return TruncateUnsigned<int32_t>(x);
  } else if constexpr (std::is_same_v<To, uint8_t> && length == 16) {
    // Saturates to 16 bits without a sign, which are read as bits with a sign.
    const auto bits = static_cast<int16_t>(std::clamp<int32_t>(Truncate<int32_t>(x), 0, 0xffff));
    return static_cast<To>(std::clamp<int32_t>(bits, 0, 0xff));
  } else {
    using Limits = std::numeric_limits<To>;
    return static_cast<To>(std::clamp<int32_t>(Truncate<int32_t>(x), Limits::min(), Limits::max()));
  }
}

// How many numbers TensorFlow's kernels convert at once; 0: one after the other. Numbers after the last whole vector
// are converted alone.
template <typename From, typename To>
constexpr int64_t VectorLength() {
  constexpr bool kNarrow = sizeof(To) < sizeof(int32_t);
  if (!std::is_integral_v<To> || std::is_same_v<To, bool> || !(kNarrow || std::is_same_v<To, uint32_t>)) return 0;
  if (std::is_same_v<From, bfloat16>) return 8;
  if (std::is_same_v<From, std::complex<float>>) return kNarrow ? 0 : 8;
  if (std::is_same_v<From, std::complex<double>>) return kNarrow ? 16 : 0;
  if (std::is_same_v<From, float>) return kNarrow ? 32 : 8;
  if (std::is_same_v<From, double> || std::is_same_v<From, half>) return kNarrow ? 16 : 8;
  return 0;
}
// Divisible by every vector's length: a loop may be split at its multiples.
constexpr int64_t kLongestVector = 32;

}  // namespace weir::cast_internal
