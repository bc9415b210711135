// Index rows moved from one dense shape to another of as many elements.
#pragma once

#include "core/kernel/op_kernel.h"
#include "core/tensor/tensor.h"

namespace weir {

// Sets outputs `indices_output` and `shape_output`. `target` is an int64 vector in which one size may be -1.
absl::Status ReshapeSparse(OpKernelContext& ctx, const Tensor& indices, const Tensor& shape, const Tensor& target,
                           int indices_output, int shape_output);

}  // namespace weir
