#include "kernels/containers/tensor_sequence.h"

#include "kernels/device/elements.h"
#include "kernels/device/indices.h"

namespace weir {
namespace {

// Copies what dimensions d and later hold of a dense tensor into a larger one; gives the end of what was read.
const char* CopyRows(DataType dtype, const TensorShape& shape, int d, const DimVector& steps, const char* from,
                     char* to) {
  const int64_t size = static_cast<int64_t>(DataTypeSize(dtype));
  if (shape.num_elements() == 0) return from;
  if (d >= shape.dims() - 1) {
    const int64_t n = d < shape.dims() ? shape.dim_size(d) : 1;
    CopyElements(dtype, to, from, n);
    return from + n * size;
  }
  for (int64_t i = 0; i < shape.dim_size(d); ++i) {
    from = CopyRows(dtype, shape, d + 1, steps, from, to + i * steps[d] * size);
  }
  return from;
}

}  // namespace

absl::StatusOr<Tensor> StackTensors(const OpKernelContext& ctx, const SequenceMemory& memory, DataType dtype,
                                    absl::Span<const Tensor> elements, const TensorShape& element_shape) {
  TensorShape shape = element_shape;
  RETURN_IF_ERROR(shape.InsertDim(0, static_cast<int64_t>(elements.size())));
  return memory.Join(ctx, dtype, elements, shape);
}

absl::StatusOr<Tensor> PadAndStackTensors(const OpKernelContext& ctx, DataType dtype, absl::Span<const Tensor> elements,
                                          const TensorShape& element_shape) {
  TensorShape shape = element_shape;
  RETURN_IF_ERROR(shape.InsertDim(0, static_cast<int64_t>(elements.size())));
  ASSIGN_OR_RETURN(Tensor out, HostSequences().Zeros(ctx, dtype, shape));
  const DimVector steps = DenseSteps(element_shape.dim_sizes());
  const int64_t size = static_cast<int64_t>(DataTypeSize(dtype));
  char* to = static_cast<char*>(out.raw_data());
  for (const Tensor& element : elements) {
    CopyRows(dtype, element.shape(), 0, steps, static_cast<const char*>(element.raw_data()), to);
    to += element_shape.num_elements() * size;
  }
  return out;
}

absl::StatusOr<Tensor> ConcatTensors(const OpKernelContext& ctx, const SequenceMemory& memory, DataType dtype,
                                     absl::Span<const Tensor> elements, const TensorShape& row) {
  int64_t rows = 0;
  for (const Tensor& element : elements) rows += element.dim_size(0);
  TensorShape shape = row;
  RETURN_IF_ERROR(shape.InsertDim(0, rows));
  return memory.Join(ctx, dtype, elements, shape);
}

absl::StatusOr<std::vector<Tensor>> RowsOf(const OpKernelContext& ctx, const SequenceMemory& memory,
                                           const Tensor& tensor) {
  ASSIGN_OR_RETURN(std::vector<Tensor> rows, memory.Cut(ctx, tensor, std::vector<int64_t>(tensor.dim_size(0), 1)));
  for (Tensor& row : rows) row = row.SubSlice(0);
  return rows;
}

absl::StatusOr<PartialTensorShape> PartialShapeFromTensor(const Tensor& tensor) {
  ASSIGN_OR_RETURN(const Indices values, Indices::Read(tensor));
  if (tensor.dims() == 0) {
    if (values[0] == -1) return PartialTensorShape();
    return errors::InvalidArgument("The only valid scalar shape tensor is the fully unknown shape specified as -1.");
  }
  if (tensor.dims() != 1) {
    return errors::InvalidArgument("Shape must be at most rank 1 but is rank ", tensor.dims());
  }
  return PartialTensorShape::Build(absl::MakeConstSpan(values.data(), values.size()));
}

absl::StatusOr<PartialTensorShape> RowShape(const PartialTensorShape& shape) {
  if (shape.unknown_rank()) return shape;
  if (shape.dims() < 1) return errors::InvalidArgument("Expected a shape with at least one dimension, got a scalar's");
  return PartialTensorShape::Build(shape.dim_sizes().subspan(1));
}

}  // namespace weir
