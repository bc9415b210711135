// What OneHot makes, on whatever device.
#pragma once

#include "core/op_kernel.h"

namespace weir {

// Inputs: indices, depth in host memory, the values on and off. InvalidArgument where they do not fit.
struct OneHotShape {
  // `axis` is the attribute: -1 stands for behind all.
  static absl::StatusOr<OneHotShape> Of(OpKernelContext& ctx, int64_t axis);

  int64_t depth = 0;
  int axis = 0;  // of the classes, in `shape`
  TensorShape shape;
};

}  // namespace weir
