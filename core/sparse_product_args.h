// What SparseTensorDenseMatMul takes, on every device.
#pragma once

#include "core/status.h"
#include "core/tensor.h"

namespace weir {

// The matrix `shape` of the entries `values` at `indices`, times the matrix `b`; whether their sizes agree is not
// looked at. INVALID_ARGUMENT in TensorFlow's words.
absl::Status CheckSparseTimesDense(const Tensor& indices, const Tensor& values, const Tensor& shape, const Tensor& b);

}  // namespace weir
