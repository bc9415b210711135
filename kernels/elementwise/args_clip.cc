#include "kernels/elementwise/args_clip.h"

namespace weir {

absl::Status CheckBounds(const TensorShape& clipped, const TensorShape& low, const TensorShape& high) {
  const auto fits = [&](const TensorShape& bound) { return bound.IsScalar() || bound == clipped; };
  if (fits(low) && fits(high)) return absl::OkStatus();
  return errors::InvalidArgument(
      "clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. input shape: ",
      clipped.ToString(), "clip_value_min shape: ", low.ToString(), "clip_value_max shape: ", high.ToString());
}

}  // namespace weir
