#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/elementwise/cast/cast_loops.h"

namespace weir {
namespace {

// Eight-bit floats round to the nearest number, ties to even. Beyond the largest number float8_e5m2 has infinities;
// float8_e4m3fn has none and gives NaN.
template <typename T>
struct Float8;
template <>
struct Float8<float8_e5m2> {
  static constexpr int kMantissaBits = 2, kLeastExponent = -14;
  static constexpr uint8_t kInfinity = 0x7c, kNan = 0x7e;
};
template <>
struct Float8<float8_e4m3fn> {
  static constexpr int kMantissaBits = 3, kLeastExponent = -6;
  static constexpr uint8_t kInfinity = 0x7f, kNan = 0x7f;
};

template <typename T>
constexpr float DecodeMagnitude(uint8_t bits) {
  using Format = Float8<T>;
  if (bits >= Format::kInfinity) {
    return bits == Format::kInfinity && Format::kInfinity != Format::kNan ? std::numeric_limits<float>::infinity()
                                                                          : std::numeric_limits<float>::quiet_NaN();
  }
  const int exponent = bits >> Format::kMantissaBits, leading = 1 << Format::kMantissaBits;
  const int mantissa = bits % leading + (exponent == 0 ? 0 : leading);
  float value = static_cast<float>(mantissa);
  for (int i = Format::kLeastExponent - Format::kMantissaBits; i < 0; ++i) value /= 2;
  for (int i = 1; i < exponent; ++i) value *= 2;
  return value;
}

template <typename T>
constexpr std::array<float, 256> DecodeAll() {
  std::array<float, 256> values{};
  for (int i = 0; i < 128; ++i) {
    values[i] = DecodeMagnitude<T>(static_cast<uint8_t>(i));
    values[128 + i] = -values[i];
  }
  return values;
}

template <typename T>
constexpr std::array<float, 256> kDecoded = DecodeAll<T>();

template <typename T>
uint8_t Encode(double value) {
  using Format = Float8<T>;
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  const double magnitude = std::abs(value);
  if (std::isnan(value)) return sign | Format::kNan;
  if (std::isinf(value)) return sign | Format::kInfinity;
  if (magnitude == 0) return sign;
  // In units of the last place. A mantissa that is rounded up to the next power of two carries into the exponent.
  const int exponent = std::max(std::ilogb(magnitude), Format::kLeastExponent);
  const double mantissa = std::nearbyint(std::ldexp(magnitude, Format::kMantissaBits - exponent));
  const int bits = ((exponent - Format::kLeastExponent) << Format::kMantissaBits) + static_cast<int>(mantissa);
  return sign | static_cast<uint8_t>(std::min<int>(bits, Format::kInfinity));
}

template <typename From, typename To>
void ToFloat8(const void* in, void* out, int64_t n) {
  if constexpr (cast_internal::kIs16<From>) {
    float block[kFloat16Block];
    for (int64_t i = 0; i < n; i += kFloat16Block) {
      const int64_t count = std::min(kFloat16Block, n - i);
      ToFloats(At16<From>(in, i), block, count);
      ToFloat8<float, To>(block, static_cast<To*>(out) + i, count);
    }
  } else {
    const auto* const x = static_cast<const From*>(in);
    auto* const z = static_cast<To*>(out);
    for (int64_t i = 0; i < n; ++i) z[i].bits = Encode<To>(x[i]);
  }
}

template <typename From, CastLoop kFromFloat>
void FromFloat8(const void* in, void* out, int64_t n, int64_t out_size) {
  constexpr int64_t kBlock = 256;
  float block[kBlock];
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    for (int64_t j = 0; j < count; ++j) block[j] = kDecoded<From>[static_cast<const From*>(in)[i + j].bits];
    kFromFloat(block, static_cast<char*>(out) + i * out_size, count);
  }
}

template <typename From, typename To>
void FromFloat8To(const void* in, void* out, int64_t n) {
  if constexpr (std::is_same_v<To, float8_e5m2> || std::is_same_v<To, float8_e4m3fn>) {
    FromFloat8<From, &ToFloat8<float, To>>(in, out, n, sizeof(To));
  } else {
    FromFloat8<From, &cast_internal::Cast<float, To, 0>>(in, out, n, sizeof(To));
  }
}

template <typename To>
CastLoop FindToFloat8(DataType from) {
  switch (from) {
#define WEIR_CAST_CASE(From) \
  case DataTypeOf<From>():   \
    return &ToFloat8<From, To>;
    WEIR_FOR_FLOATS(WEIR_CAST_CASE)
#undef WEIR_CAST_CASE
    default:
      return nullptr;
  }
}

template <typename From>
CastLoop FindFromFloat8(DataType to) {
  switch (to) {
#define WEIR_CAST_CASE(To) \
  case DataTypeOf<To>():   \
    return &FromFloat8To<From, To>;
    WEIR_FOR_CAST_TYPES(WEIR_CAST_CASE)
    WEIR_CAST_CASE(float8_e5m2)
    WEIR_CAST_CASE(float8_e4m3fn)
#undef WEIR_CAST_CASE
    default:
      return nullptr;
  }
}

}  // namespace

CastLoop FindCastFromFloats(DataType from, DataType to) {
  using cast_internal::CastTo;
  switch (from) {
    case DT_FLOAT:
      return CastTo<float>(to);
    case DT_DOUBLE:
      return CastTo<double>(to);
    case DT_HALF:
      return CastTo<half>(to);
    case DT_BFLOAT16:
      return CastTo<bfloat16>(to);
    case DT_COMPLEX64:
      return CastTo<complex64>(to);
    case DT_COMPLEX128:
      return CastTo<complex128>(to);
    default:
      return nullptr;
  }
}

CastLoop FindCastFloat8(DataType from, DataType to) {
  if (from == DT_FLOAT8_E5M2) return FindFromFloat8<float8_e5m2>(to);
  if (from == DT_FLOAT8_E4M3FN) return FindFromFloat8<float8_e4m3fn>(to);
  if (to == DT_FLOAT8_E5M2) return FindToFloat8<float8_e5m2>(from);
  if (to == DT_FLOAT8_E4M3FN) return FindToFloat8<float8_e4m3fn>(from);
  return nullptr;
}

}  // namespace weir
