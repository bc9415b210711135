// The checked arguments and the result's shape of SparseTensorDenseMatMul, on every device.
#pragma once

#include "core/kernel/op_kernel.h"

namespace weir {

// Of a matrix of `rows` by `inner`, adjoint or not, times one of `inner` by `columns`.
struct SparseProductSizes {
  // Inputs: indices, values, and in host memory the shape of the sparse matrix; the dense one. INVALID_ARGUMENT in
  // TensorFlow's words where they do not fit; indices are not looked at.
  static absl::StatusOr<SparseProductSizes> Of(OpKernelContext& ctx, bool adjoint_a, bool adjoint_b);

  int64_t rows = 0, inner = 0, columns = 0;
  TensorShape output;
};

}  // namespace weir
