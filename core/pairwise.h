// Arguments of element-wise ops that do not broadcast, on whatever device.
#pragma once

#include "core/status.h"
#include "core/tensor.h"

namespace weir {

// InvalidArgument in TensorFlow's words unless `x` and `y` have as many elements; shapes may differ.
absl::Status CheckPairwise(const Tensor& x, const Tensor& y);

}  // namespace weir
