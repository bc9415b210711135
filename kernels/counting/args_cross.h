// Argument checks of Cross for all devices.
#pragma once

#include "core/status.h"
#include "core/tensor/tensor.h"

namespace weir {

// Both of one shape whose last dimension is 3; errors are TensorFlow's.
inline absl::Status CheckCross(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) {
    return errors::InvalidArgument("Both inputs must be of same shape: ", a.shape().ToString(), " vs. ",
                                   b.shape().ToString());
  }
  if (a.dims() < 1) return errors::InvalidArgument("Input must be at least 1D", a.shape().ToString());
  if (a.dim_size(a.dims() - 1) == 3) return absl::OkStatus();
  return errors::FailedPrecondition("Cross-products are only defined for 3-element vectors.");
}

}  // namespace weir
