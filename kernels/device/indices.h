// Index tensors as kernels read them: int32 or int64, checked before use.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "core/kernel/op_kernel.h"
#include "core/tensor/tensor.h"
#include "kernels/device/element_name.h"

namespace weir {

// The elements of an int32 or int64 tensor as int64. Keeps the tensor's buffer alive.
class Indices {
 public:
  // InvalidArgument for another type.
  static absl::StatusOr<Indices> Read(const Tensor& tensor);

  int64_t size() const { return tensor_.NumElements(); }
  int64_t operator[](int64_t i) const { return data()[i]; }
  const int64_t* data() const { return converted_.empty() ? tensor_.data<int64_t>() : converted_.data(); }
  const TensorShape& shape() const { return tensor_.shape(); }
  // InvalidArgument, "indices[i] = n is not in [0, limit)", unless every one is.
  absl::Status CheckRange(int64_t limit, absl::string_view name = "indices") const;

 private:
  Tensor tensor_;
  std::vector<int64_t> converted_;
};

// InvalidArgument: the updates of a scatter do not have the outer dimensions of its indices, [.., depth].
absl::Status MismatchOfRows(const TensorShape& indices, const TensorShape& updates);

// The dimensions of a shape or size given as a tensor: an int32 or int64 vector.
absl::StatusOr<TensorShape> ShapeFromTensor(const Tensor& tensor, absl::string_view name);
// An int32 or int64 tensor of one element; `name` is for the error.
absl::StatusOr<int64_t> ScalarFromTensor(const Tensor& tensor, absl::string_view name);

}  // namespace weir
