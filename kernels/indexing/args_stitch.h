// Argument checks of DynamicStitch for all devices.
#pragma once

#include "core/kernel/op_kernel.h"

namespace weir {

// Inputs: n tensors of indices, in host memory, then n of data. InvalidArgument if they do not match.
struct StitchedRows {
  static absl::StatusOr<StitchedRows> Of(OpKernelContext& ctx);

  TensorShape row;    // what follows the indices' dimensions in all data
  TensorShape shape;  // of the output: as many rows as the highest index asks for
  int64_t num_indices = 0;
};

}  // namespace weir
