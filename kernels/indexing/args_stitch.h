// What DynamicStitch makes of rows, on whatever device.
#pragma once

#include "core/op_kernel.h"

namespace weir {

// Inputs: n tensors of indices, in host memory, then n of data. InvalidArgument where they do not fit.
struct StitchedRows {
  static absl::StatusOr<StitchedRows> Of(OpKernelContext& ctx);

  TensorShape row;    // what follows the indices' dimensions in all data
  TensorShape shape;  // of the output: as many rows as the highest index asks for
  int64_t num_indices = 0;
};

}  // namespace weir
