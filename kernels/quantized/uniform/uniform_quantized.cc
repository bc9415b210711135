#include "kernels/quantized/uniform/uniform_quantized.h"

#include <algorithm>

namespace weir {

absl::StatusOr<FixedPointFactor> FixedPointFactor::Of(double factor) {
  if (!std::isfinite(factor) || factor <= 0) {
    return errors::InvalidArgument("double_multiplier must be a poisitive finite number. Given ", factor);
  }
  constexpr int64_t kOne = int64_t{1} << 31;
  int exponent;
  FixedPointFactor made;
  made.multiplier_ = std::llround(std::frexp(factor, &exponent) * static_cast<double>(kOne));
  if (made.multiplier_ == kOne) {
    made.multiplier_ /= 2;
    ++exponent;
  }
  if (exponent < -31) {
    exponent = 0;
    made.multiplier_ = 0;
  } else if (exponent > 30) {
    exponent = 30;
    made.multiplier_ = kOne - 1;
  }
  made.right_ = 31 - exponent;
  return made;
}

DynamicRange QuantizeToRange(const float* x, int64_t n, int8_t* out) {
  constexpr double kLow = -128, kHigh = 127;
  float least = 0, most = 0;
  for (int64_t i = 0; i < n; ++i) {
    least = std::min(least, x[i]);
    most = std::max(most, x[i]);
  }
  const double low = least, high = most, width = high - low;
  DynamicRange range;
  range.scale = static_cast<float>(width / (kHigh - kLow));
  const float inverse = width != 0 ? static_cast<float>((kHigh - kLow) / width) : 0.0f;
  if (range.scale == 0 || !std::isfinite(inverse)) {
    std::fill_n(out, n, int8_t{0});
    return DynamicRange();
  }
  // The zero point that either end gives; the one that rounds off less.
  const double below = low / range.scale, above = high / range.scale;
  const double zero_point =
      std::abs(kLow) + std::abs(below) < std::abs(kHigh) + std::abs(above) ? kLow - below : kHigh - above;
  range.zero_point = std::isnan(zero_point) ? 0 : static_cast<int32_t>(std::round(std::clamp(zero_point, kLow, kHigh)));
  for (int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<int8_t>(Quantized(x[i], inverse, range.zero_point, {-128, 127}));
  }
  return range;
}

absl::Status QuantizationParams::Check(const TensorShape& data, const Tensor& scales, const Tensor& zero_points,
                                       int64_t axis) {
  const std::string scales_shape = scales.shape().ToString(), zero_points_shape = zero_points.shape().ToString();
  if (scales.shape() != zero_points.shape()) {
    return errors::InvalidArgument("scales and zero_points shape must be same, but given scales shape ", scales_shape,
                                   " and zero_points shape ", zero_points_shape);
  }
  if (axis < -1 || axis >= data.dims()) {
    return errors::InvalidArgument("quantization_axis must be -1 or in range [0, input.rank), but given ", axis);
  }
  if (axis == -1) {
    if (scales.dims() == 0) return absl::OkStatus();
    return errors::InvalidArgument(
        "If quantization_axis is -1, scales and zero_points must be scalar tensors, but given scales shape ",
        scales_shape, " and zero_points shape ", zero_points_shape);
  }
  if (scales.dims() == 1 && scales.dim_size(0) == data.dim_size(static_cast<int>(axis))) return absl::OkStatus();
  return errors::InvalidArgument(
      "If quantization_axis is not -1, scales and zero_points must be a tensor of rank 1 and the size must be equal to "
      "the input.dim_size(quantization_axis), but given quantization_axis ",
      axis, ", scales shape ", scales_shape, " and zero_points shape ", zero_points_shape);
}

bool AllPositive(const Tensor& scales) {
  const float* const x = scales.data<float>();
  return std::all_of(x, x + scales.NumElements(), [](float scale) { return scale > 0; });
}

}  // namespace weir
