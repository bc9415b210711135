#include "core/tensor/index_tensor.h"
#include "kernels/device/elements.h"
#include "kernels/device/indices.h"
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_tensor.h"

namespace weir {
namespace {

// Indices are a matrix, a vector of indices of one dimension, or a single one of those.
class SparseToDenseKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("T", &type_));
    return ctx.GetAttr("validate_indices", &validate_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &indices = ctx.input(0), &values = ctx.input(2), &initial = ctx.input(3);
    if (indices.dims() > 2) {
      return errors::InvalidArgument("sparse_indices should be a scalar, vector, or matrix, got shape ",
                                     indices.shape().ToString());
    }
    const int64_t entries = indices.dims() > 0 ? indices.dim_size(0) : 1;
    const int64_t rank = indices.dims() > 1 ? indices.dim_size(1) : 1;
    if (ctx.input(1).dims() != 1) {
      return errors::InvalidArgument("output_shape must be rank 1, got shape ", ctx.input(1).shape().ToString());
    }
    if (ctx.input(1).NumElements() != rank) {
      return errors::InvalidArgument("output_shape has incorrect number of elements: ", ctx.input(1).NumElements(),
                                     " should be: ", rank);
    }
    if (values.dims() != 0 && (values.dims() != 1 || values.NumElements() != entries)) {
      return errors::InvalidArgument("sparse_values has incorrect shape ", values.shape().ToString(),
                                     ", should be [] or [", entries, "]");
    }
    if (initial.dims() != 0) return errors::InvalidArgument("default_value should be a scalar.");
    ASSIGN_OR_RETURN(const TensorShape shape, ReadShape(ctx.input(1)));
    ASSIGN_OR_RETURN(const Tensor rows, Wide(ctx, indices, TensorShape({entries, rank})));
    ASSIGN_OR_RETURN(const SparseTensor sparse,
                     SparseTensor::Read(rows, Tensor(DT_BOOL, TensorShape({entries})), ShapeTensor(shape.dim_sizes())));
    if (validate_) {
      RETURN_IF_ERROR(sparse.CheckOrdered());
    } else if (!sparse.CheckBounds().ok()) {
      return errors::InvalidArgument("Indices are not valid (out of bounds).  Shape: ", shape.ToString());
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    FillElements(type_, initial.raw_data(), output->raw_data(), shape.num_elements());
    const DimVector steps = DenseSteps(shape.dim_sizes());
    VisitElementType(type_, [&](auto element) {
      using T = decltype(element);
      const T* const from = values.data<T>();
      T* const to = output->data<T>();
      const int64_t step = values.dims() == 0 ? 0 : 1;
      for (int64_t i = 0; i < entries; ++i) {
        int64_t at = 0;
        for (int64_t d = 0; d < rank; ++d) at += sparse.index(i)[d] * steps[d];
        to[at] = from[i * step];
      }
    });
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<Tensor> Wide(OpKernelContext& ctx, const Tensor& indices, const TensorShape& shape) {
    if (indices.dtype() == DT_INT64) return indices.Reshaped(shape);
    ASSIGN_OR_RETURN(Tensor wide, ctx.allocate_temp(DT_INT64, shape));
    for (int64_t i = 0; i < indices.NumElements(); ++i) wide.data<int64_t>()[i] = indices.data<int32_t>()[i];
    return wide;
  }

  DataType type_ = DT_INVALID;
  bool validate_ = true;
};

}  // namespace

absl::Status RegisterSparseToDenseKernels(KernelRegistry& kernels) {
  for (DataType index : {DT_INT32, DT_INT64}) {
    RETURN_IF_ERROR(kernels.Register<SparseToDenseKernel>(Kernel("SparseToDense").Cpu().Types("Tindices", {index})));
  }
  return absl::OkStatus();
}

}  // namespace weir
