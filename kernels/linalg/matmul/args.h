// The shapes of matrix products, on whatever device.
#pragma once

#include "kernels/elementwise/args_broadcast.h"

namespace weir {

// [m, k] times [k, n], after transposition.
struct MatMulSizes {
  // Of two matrices. InvalidArgument where they do not fit.
  static absl::StatusOr<MatMulSizes> Of(const TensorShape& a, const TensorShape& b, bool transpose_a, bool transpose_b);

  int64_t m = 0, n = 0, k = 0;
};

// Matrices in the two innermost dimensions, and batches of them in those before.
struct BatchMatMulSizes {
  // Version 1 of the op wants equal batch dimensions, later ones broadcast them (`broadcasts`). InvalidArgument where
  // they do not fit.
  static absl::StatusOr<BatchMatMulSizes> Of(const TensorShape& x, const TensorShape& y, bool transpose_x,
                                             bool transpose_y, bool broadcasts);

  TensorShape output;
  MatMulSizes product;
  Broadcasting batches;  // its steps count matrices
};

}  // namespace weir
