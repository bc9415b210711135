// Argument checks of Slice for all devices.
#pragma once

#include "core/tensor/tensor.h"

namespace weir {

// `size` elements from `begin` in each dimension: all of them in range.
struct SliceBounds {
  // `begin` and `size` are in host memory; a size of -1 means the rest of the dimension. InvalidArgument if they are
  // out of range.
  static absl::StatusOr<SliceBounds> Of(const TensorShape& input, const Tensor& begin, const Tensor& size);

  DimVector begin, size;
};

}  // namespace weir
