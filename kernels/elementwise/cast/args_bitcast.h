// The output shape of Bitcast, for all devices.
#pragma once

#include "core/tensor/tensor.h"

namespace weir {

// If the element sizes differ, a last dimension is added or removed. INVALID_ARGUMENT, with TensorFlow's message, if
// the last dimension does not make up one element of `to`.
absl::StatusOr<TensorShape> BitcastShape(const Tensor& input, DataType to);

}  // namespace weir
