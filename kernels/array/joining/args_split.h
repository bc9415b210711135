// Argument checks of Split, SplitV, Pack and Unpack for all devices.
#pragma once

#include "core/tensor/tensor.h"

namespace weir {

// Pieces of `lengths` along `axis`. Arguments are in host memory; InvalidArgument if they do not match.
struct SplitSizes {
  // Equal pieces.
  static absl::StatusOr<SplitSizes> Equal(const TensorShape& input, const Tensor& axis, int pieces);
  // One length may be -1: the rest of the axis.
  static absl::StatusOr<SplitSizes> Of(const TensorShape& input, const Tensor& lengths, const Tensor& axis, int pieces);

  int axis = 0;
  DimVector lengths;
};

// The dimension that attribute `axis` of Pack and Unpack names among `rank`.
absl::StatusOr<int> StackedAxis(int64_t axis, int rank);

}  // namespace weir
