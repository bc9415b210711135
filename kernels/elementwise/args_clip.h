// The bounds of ClipByValue, on whatever device.
#pragma once

#include "core/status.h"
#include "core/tensor_shape.h"

namespace weir {

// InvalidArgument unless each is a scalar, or has the shape of what is clipped.
absl::Status CheckBounds(const TensorShape& clipped, const TensorShape& low, const TensorShape& high);

}  // namespace weir
