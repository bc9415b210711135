// Reading tensors that hold indices, sizes and axes.
#pragma once

#include "core/status.h"
#include "core/tensor.h"

namespace weir {

// The elements of an integer tensor of any shape. InvalidArgument for other types.
absl::StatusOr<DimVector> ReadIntegers(const Tensor& tensor);
// Of a tensor with one element; the error names it `what`.
absl::StatusOr<int64_t> ReadInteger(const Tensor& tensor, absl::string_view what);
// A scalar tensor's; a vector of one is refused.
absl::StatusOr<int64_t> ReadScalarInteger(const Tensor& tensor, absl::string_view what);
// The shape that an integer vector holds; InvalidArgument for negative or too many elements.
absl::StatusOr<TensorShape> ReadShape(const Tensor& tensor);

// Writes `values` as elements of an int16, int32 or int64 tensor. InvalidArgument where one does not fit.
absl::Status WriteIntegers(absl::Span<const int64_t> values, Tensor* tensor);

}  // namespace weir
