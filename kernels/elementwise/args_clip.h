// Argument checks of ClipByValue for all devices.
#pragma once

#include "core/status.h"
#include "core/tensor/tensor_shape.h"

namespace weir {

// InvalidArgument unless each bound is a scalar or has the shape of the clipped tensor.
absl::Status CheckBounds(const TensorShape& clipped, const TensorShape& low, const TensorShape& high);

}  // namespace weir
