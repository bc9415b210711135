// What Slice takes of its input, on whatever device.
#pragma once

#include "core/tensor.h"

namespace weir {

// `size` elements from `begin` in each dimension: all of them in range.
struct SliceBounds {
  // Of `input`; `begin` and `size` are in host memory, and a size of -1 stands for all that is left. InvalidArgument
  // where they do not fit.
  static absl::StatusOr<SliceBounds> Of(const TensorShape& input, const Tensor& begin, const Tensor& size);

  DimVector begin, size;
};

}  // namespace weir
