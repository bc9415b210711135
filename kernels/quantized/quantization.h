// Real numbers as small integers: a range [min, max] is spread over all values of a quantised type.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/kernel/op_kernel.h"

namespace weir {

// The integer type behind a quantised one; fn(int8_t()) and so on. Unimplemented for other types.
template <typename Fn>
absl::Status VisitQuantized(DataType type, Fn&& fn) {
  switch (type) {
    case DT_QINT8:
      return fn(int8_t());
    case DT_QUINT8:
      return fn(uint8_t());
    case DT_QINT16:
      return fn(int16_t());
    case DT_QUINT16:
      return fn(uint16_t());
    case DT_QINT32:
      return fn(int32_t());
    default:
      return errors::Unimplemented("Expected quantised elements, not ", DataTypeName(type));
  }
}

struct QuantizedRange {
  float low = 0, high = 0;
};

// How many values a type has, without 1 where it counts steps.
template <typename T>
constexpr double kSteps = static_cast<double>(std::numeric_limits<T>::max()) -
                          static_cast<double>(std::numeric_limits<T>::lowest());

// The integer for a number, not held to what the type can hold.
template <typename T>
int64_t ToQuantizedUnclamped(float x, QuantizedRange range) {
  if (range.low == range.high) return 0;
  const double scale = kSteps<T> / (static_cast<double>(range.high) - static_cast<double>(range.low));
  const double q =
      std::round(x * scale) - std::round(range.low * scale) + static_cast<double>(std::numeric_limits<T>::lowest());
  constexpr double kFar = 9e18;
  return std::isnan(q) ? 0 : static_cast<int64_t>(std::min(std::max(q, -kFar), kFar));
}
template <typename T>
T ToQuantized(float x, QuantizedRange range) {
  const int64_t q = ToQuantizedUnclamped<T>(x, range);
  constexpr int64_t kLow = std::numeric_limits<T>::lowest(), kHigh = std::numeric_limits<T>::max();
  return static_cast<T>(q < kLow ? kLow : q > kHigh ? kHigh : q);
}
template <typename T>
float FromQuantized(T q, QuantizedRange range) {
  if (range.low == range.high) return range.low;
  const double step = (static_cast<double>(range.high) - static_cast<double>(range.low)) / kSteps<T>;
  const float narrow = static_cast<float>(step);
  const double low = std::round(range.low / narrow) * narrow;
  return static_cast<float>(low +
                            (static_cast<double>(q) - static_cast<double>(std::numeric_limits<T>::lowest())) * step);
}

// The range of 32-bit products of values in ranges a and b.
template <typename A, typename B>
QuantizedRange ProductRange(QuantizedRange a, QuantizedRange b) {
  const float step =
      static_cast<float>((a.high - a.low) / kSteps<A>) * static_cast<float>((b.high - b.low) / kSteps<B>);
  return {step * static_cast<float>(std::numeric_limits<int32_t>::lowest()),
          step * static_cast<float>(std::numeric_limits<int32_t>::max())};
}

// The one element of a float tensor; InvalidArgument naming it.
absl::StatusOr<float> RangeLimit(const Tensor& tensor, const char* name);
// The range that inputs `first` and the one behind it give, and the one that output `first` and the one behind it get.
absl::StatusOr<QuantizedRange> RangeAt(const OpKernelContext& ctx, int first, const char* low, const char* high);
void SetRange(OpKernelContext& ctx, int first, QuantizedRange range);

}  // namespace weir
