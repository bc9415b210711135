// Argument checks of ScatterNd, TensorScatter* and ScatterNd* for all devices.
#pragma once

#include "core/status.h"
#include "core/tensor/tensor_shape.h"

namespace weir {

// InvalidArgument unless updates have the outer dimensions of indices, then those of a slice of `shape`.
absl::Status CheckSliceUpdates(const TensorShape& indices, const TensorShape& updates, const TensorShape& shape);

}  // namespace weir
