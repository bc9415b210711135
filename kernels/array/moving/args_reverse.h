// Which dimensions Reverse and ReverseV2 turn round, on whatever device.
#pragma once

#include <vector>

#include "core/tensor.h"

namespace weir {

// `axes`, in host memory, holds a bool for each dimension of `shape`, or the numbers of those that are reversed.
// InvalidArgument where they do not fit.
absl::StatusOr<std::vector<bool>> ReadReversedAxes(const Tensor& axes, const TensorShape& shape);

}  // namespace weir
