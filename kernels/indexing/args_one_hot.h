// Argument checks of OneHot for all devices.
#pragma once

#include "core/kernel/op_kernel.h"

namespace weir {

// Inputs: indices, depth in host memory, the values on and off. InvalidArgument if they do not match.
struct OneHotShape {
  // `axis` is the attribute; -1 means the last dimension of the output.
  static absl::StatusOr<OneHotShape> Of(OpKernelContext& ctx, int64_t axis);

  int64_t depth = 0;
  int axis = 0;  // of the classes, in `shape`
  TensorShape shape;
};

}  // namespace weir
