// Reads tensors of indices, sizes and axes.
#pragma once

#include "core/status.h"
#include "core/tensor/tensor.h"

namespace weir {

// The elements of an integer tensor of any shape. InvalidArgument for other types.
absl::StatusOr<DimVector> ReadIntegers(const Tensor& tensor);
// The value of a tensor with one element; errors name it `what`.
absl::StatusOr<int64_t> ReadInteger(const Tensor& tensor, absl::string_view what);
// The value of a scalar tensor; fails for a vector of one element.
absl::StatusOr<int64_t> ReadScalarInteger(const Tensor& tensor, absl::string_view what);
// The shape in an integer vector; InvalidArgument for negative dimensions or too many elements.
absl::StatusOr<TensorShape> ReadShape(const Tensor& tensor);

// Writes `values` as elements of an int16, int32 or int64 tensor. InvalidArgument if one does not fit.
absl::Status WriteIntegers(absl::Span<const int64_t> values, Tensor* tensor);

}  // namespace weir
