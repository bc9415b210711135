// Argument checks of Reverse and ReverseV2 for all devices.
#pragma once

#include <vector>

#include "core/tensor/tensor.h"

namespace weir {

// `axes` is in host memory: a bool for each dimension of `shape`, or the numbers of the reversed ones. InvalidArgument
// if it does not match.
absl::StatusOr<std::vector<bool>> ReadReversedAxes(const Tensor& axes, const TensorShape& shape);

}  // namespace weir
