// Into what Split and SplitV cut a tensor, and along which axis tensors are stacked, on whatever device.
#pragma once

#include "core/tensor.h"

namespace weir {

// Pieces of `lengths` along `axis`. Arguments are in host memory; InvalidArgument where they do not fit.
struct SplitSizes {
  // Equal pieces.
  static absl::StatusOr<SplitSizes> Equal(const TensorShape& input, const Tensor& axis, int pieces);
  // A length of -1 stands for what the others leave.
  static absl::StatusOr<SplitSizes> Of(const TensorShape& input, const Tensor& lengths, const Tensor& axis, int pieces);

  int axis = 0;
  DimVector lengths;
};

// The dimension that attribute `axis` of Pack and Unpack names among `rank`.
absl::StatusOr<int> StackedAxis(int64_t axis, int rank);

}  // namespace weir
