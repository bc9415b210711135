// The body of FindCast's tables: one loop for a pair of types, and the choice of the target.
#pragma once

#include <algorithm>
#include <complex>

#include "kernels/device/float16.h"
#include "kernels/device/parallel.h"
#include "kernels/elementwise/cast/cpu_cast.h"
#include "kernels/elementwise/cast/to_integer.h"

namespace weir::cast_internal {

template <typename T>
inline constexpr bool kIs16 = false;
template <>
inline constexpr bool kIs16<half> = true;
template <>
inline constexpr bool kIs16<bfloat16> = true;
template <typename T>
inline constexpr bool kIsComplexType = false;
template <typename T>
inline constexpr bool kIsComplexType<std::complex<T>> = true;

// A complex source gives its real part, a complex target gets no imaginary one. `vector_length`: that of the vector
// which the value is part of, or 0; see to_integer.h.
template <typename From, typename To, int64_t vector_length = 0>
To Convert(From value) {
  if constexpr (kIsComplexType<From> && kIsComplexType<To>) {
    return To(value);
  } else if constexpr (kIsComplexType<From>) {
    return Convert<typename From::value_type, To, vector_length>(value.real());
  } else if constexpr (kIsComplexType<To>) {
    return To(static_cast<typename To::value_type>(value), 0);
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (vector_length > 0) return ToIntegerInVector<To, vector_length>(value);
    return ToIntegerAlone<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <typename T>
void* ElementAt(void* data, int64_t i) {
  if constexpr (kIs16<T>) {
    return At16<T>(data, i);
  } else {
    return static_cast<T*>(data) + i;
  }
}

template <typename From, typename To, int64_t vector_length = VectorLength<From, To>()>
void Cast(const void* in, void* out, int64_t n) {
  if constexpr (kIs16<From>) {
    static_assert(kFloat16Block % kLongestVector == 0 && kCastBlock % kLongestVector == 0);
    float block[kFloat16Block];
    for (int64_t i = 0; i < n; i += kFloat16Block) {
      const int64_t count = std::min(kFloat16Block, n - i);
      ToFloats(At16<From>(in, i), block, count);
      Cast<float, To, vector_length>(block, ElementAt<To>(out, i), count);
    }
  } else if constexpr (kIs16<To>) {
    float block[kFloat16Block];
    for (int64_t i = 0; i < n; i += kFloat16Block) {
      const int64_t count = std::min(kFloat16Block, n - i);
      Cast<From, float>(static_cast<const From*>(in) + i, block, count);
      FromFloats(block, At16<To>(out, i), count);
    }
  } else {
    const auto* x = static_cast<const From*>(in);
    auto* z = static_cast<To*>(out);
    int64_t whole = 0;
    if constexpr (vector_length > 0) {
      whole = n - n % vector_length;
      WEIR_INDEPENDENT_ITERATIONS
      for (int64_t i = 0; i < whole; ++i) z[i] = Convert<From, To, vector_length>(x[i]);
    }
    WEIR_INDEPENDENT_ITERATIONS
    for (int64_t i = whole; i < n; ++i) z[i] = Convert<From, To>(x[i]);
  }
}

#define WEIR_FOR_CAST_TYPES(M) WEIR_FOR_NUMBERS(M) M(bool)

template <typename From>
CastLoop CastTo(DataType to) {
  switch (to) {
#define WEIR_CAST_CASE(To) \
  case DataTypeOf<To>():   \
    return &Cast<From, To>;
    WEIR_FOR_CAST_TYPES(WEIR_CAST_CASE)
#undef WEIR_CAST_CASE
    default:
      return nullptr;
  }
}

}  // namespace weir::cast_internal
