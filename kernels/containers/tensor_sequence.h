// Functions that stacks, tensor arrays, tensor lists and queues share: joining tensors, and checking their shapes.
#pragma once

#include "absl/types/span.h"
#include "core/kernel/op_kernel.h"
#include "core/tensor/tensor.h"
#include "kernels/containers/sequence_memory.h"

namespace weir {

// [n] + element shape from n elements of one shape and dtype.
absl::StatusOr<Tensor> StackTensors(const OpKernelContext& ctx, const SequenceMemory& memory, DataType dtype,
                                    absl::Span<const Tensor> elements, const TensorShape& element_shape);
// As StackTensors in host memory, from elements that are no larger than `element_shape` in any dimension; zeros around
// them.
absl::StatusOr<Tensor> PadAndStackTensors(const OpKernelContext& ctx, DataType dtype, absl::Span<const Tensor> elements,
                                          const TensorShape& element_shape);
// Along dimension 0. Elements agree in dtype and in their other dimensions, which `row` gives.
absl::StatusOr<Tensor> ConcatTensors(const OpKernelContext& ctx, const SequenceMemory& memory, DataType dtype,
                                     absl::Span<const Tensor> elements, const TensorShape& row);
// The rows of `tensor`, which has a dimension, without it.
absl::StatusOr<std::vector<Tensor>> RowsOf(const OpKernelContext& ctx, const SequenceMemory& memory,
                                           const Tensor& tensor);
// A shape that an int32 or int64 tensor holds: a vector with -1 for unknown dimensions, or the scalar -1.
absl::StatusOr<PartialTensorShape> PartialShapeFromTensor(const Tensor& tensor);
// Without dimension 0, which must be there.
absl::StatusOr<PartialTensorShape> RowShape(const PartialTensorShape& shape);

}  // namespace weir
