// Arguments of element-wise ops that do not broadcast, on whatever device.
#pragma once

#include "core/status.h"
#include "core/tensor.h"

namespace weir {

// InvalidArgument in TensorFlow's words unless `x` and `y` have as many elements; shapes may differ.
absl::Status CheckPairwise(const Tensor& x, const Tensor& y);
// The same unless they have one shape: inputs 0 and 1 of a node `name` of type `op`.
absl::Status CheckSameShape(absl::string_view name, absl::string_view op, const Tensor& x, const Tensor& y);

}  // namespace weir
