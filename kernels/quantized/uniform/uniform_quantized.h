// Real numbers as integers by an affine rule, scale * (q - zero_point), for a whole tensor or for each channel of it.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/kernel/op_kernel.h"

namespace weir {

// As processors convert: what 32 bits do not hold, NaN too, is the least integer.
template <typename Real>
int32_t ToInt32(Real x) {
  constexpr Real kEnd = 2147483648;
  return x >= -kEnd && x < kEnd ? static_cast<int32_t>(x) : INT32_MIN;
}
// Modulo 2^32.
inline int32_t WrappedSum(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
inline int32_t WrappedDifference(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}

// The values that integers are held to, the upper bound first where the two are in the wrong order.
struct QuantizedBounds {
  int32_t low = INT32_MIN, high = INT32_MAX;

  int32_t Clamp(int32_t x) const {
    const int32_t lower = x < high ? x : high;
    return lower > low ? lower : low;
  }
};

// A positive factor in fixed point: a multiplier of 31 bits and a shift.
class FixedPointFactor {
 public:
  // InvalidArgument unless `factor` is positive and finite.
  static absl::StatusOr<FixedPointFactor> Of(double factor);

  // The product, halves rounded up, held to 32 bits.
  int32_t operator()(int32_t x) const {
    const int64_t product = (int64_t{x} * multiplier_ + (int64_t{1} << (right_ - 1))) >> right_;
    return product < INT32_MIN ? INT32_MIN : product > INT32_MAX ? INT32_MAX : static_cast<int32_t>(product);
  }

 private:
  int64_t multiplier_ = 0;
  int right_ = 31;
};

inline int32_t Quantized(float x, float inverse_scale, int32_t zero_point, QuantizedBounds bounds) {
  return bounds.Clamp(WrappedSum(ToInt32(std::floor(x * inverse_scale + 0.5f)), zero_point));
}

// Scale and zero point that spread the range of `n` numbers, and 0, over signed bytes, which are written to `out`. All
// are 0, with scale 1, where there is no range.
struct DynamicRange {
  float scale = 1;
  int32_t zero_point = 0;
};
DynamicRange QuantizeToRange(const float* x, int64_t n, int8_t* out);

// Scales and zero points that are given as two tensors, scalars or vectors of one number for each channel.
class QuantizationParams {
 public:
  // InvalidArgument unless the two fit data of shape `data`, of which `axis` (-1: none) holds channels.
  static absl::Status Check(const TensorShape& data, const Tensor& scales, const Tensor& zero_points, int64_t axis);

  QuantizationParams(const Tensor& scales, const Tensor& zero_points)
      : scales_(scales.data<float>()), zero_points_(zero_points.data<int32_t>()), many_(scales.NumElements() > 1) {}
  float scale(int64_t channel) const { return scales_[many_ ? channel : 0]; }
  int32_t zero_point(int64_t channel) const { return zero_points_[many_ ? channel : 0]; }

 private:
  const float* scales_;
  const int32_t* zero_points_;
  bool many_;
};

bool AllPositive(const Tensor& scales);

// Calls fn(channel, begin, end) for each run of elements that lie in one channel of `axis` (-1: all in channel 0).
template <typename Fn>
void ForEachChannel(const TensorShape& shape, int64_t axis, Fn&& fn) {
  if (shape.num_elements() == 0) return;
  if (axis < 0) return fn(int64_t{0}, int64_t{0}, shape.num_elements());
  const int64_t channels = shape.dim_size(static_cast<int>(axis));
  int64_t inner = 1;
  for (int d = static_cast<int>(axis) + 1; d < shape.dims(); ++d) inner *= shape.dim_size(d);
  for (int64_t begin = 0; begin < shape.num_elements(); begin += inner)
    fn(begin / inner % channels, begin, begin + inner);
}

}  // namespace weir
