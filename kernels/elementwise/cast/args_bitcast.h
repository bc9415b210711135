// Shapes of tensors whose bytes are taken for elements of another type, on whatever device.
#pragma once

#include "core/tensor.h"

namespace weir {

// With elements of another size a last dimension comes or goes. INVALID_ARGUMENT, in TensorFlow's words, where the
// elements of the last dimension do not make one of `to`.
absl::StatusOr<TensorShape> BitcastShape(const Tensor& input, DataType to);

}  // namespace weir
