// Argument checks of element-wise ops that do not broadcast, for all devices.
#pragma once

#include "core/status.h"
#include "core/tensor/tensor.h"

namespace weir {

// InvalidArgument, with TensorFlow's message, unless both shapes have the same number of elements.
absl::Status CheckPairwise(const TensorShape& x, const TensorShape& y);
// The same unless they have one shape: inputs 0 and 1 of a node `name` of type `op`.
absl::Status CheckSameShape(absl::string_view name, absl::string_view op, const TensorShape& x, const TensorShape& y);
// Of tensors.
inline absl::Status CheckPairwise(const Tensor& x, const Tensor& y) { return CheckPairwise(x.shape(), y.shape()); }
inline absl::Status CheckSameShape(absl::string_view name, absl::string_view op, const Tensor& x, const Tensor& y) {
  return CheckSameShape(name, op, x.shape(), y.shape());
}

}  // namespace weir
