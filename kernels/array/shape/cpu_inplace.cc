// InplaceUpdate, InplaceAdd and InplaceSub, which update rows in the input's memory if no one else uses it; and
// ParallelConcat, which joins rows.
#include "core/tensor/index_tensor.h"
#include "kernels/array/family.h"
#include "kernels/device/elements.h"
#include "kernels/state/update_loops.h"

namespace weir {
namespace {

absl::Status CheckRows(const TensorShape& x, const TensorShape& i, const TensorShape& v) {
  if (!i.IsVector()) return errors::InvalidArgument("i must be a vector. ", i.ToString());
  if (x.dims() != v.dims()) {
    return errors::InvalidArgument("x and v shape doesn't match (ranks differ): ", x.ToString(), " vs. ", v.ToString());
  }
  for (int d = 1; d < x.dims(); ++d) {
    if (x.dim_size(d) != v.dim_size(d)) {
      return errors::InvalidArgument("x and v shape doesn't match at index ", d, " : ", x.ToString(), " vs. ",
                                     v.ToString());
    }
  }
  if (x.dims() < 1) return errors::InvalidArgument("x must be at least a vector, got shape ", x.ToString());
  if (i.dim_size(0) == v.dim_size(0)) return absl::OkStatus();
  return errors::InvalidArgument("i and x shape doesn't match at index 0: ", i.ToString(), " vs. ", v.ToString());
}

// An index out of range wraps around.
template <UpdateOp kOp>
class InplaceKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("T", &dtype_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape shape = ctx.input(0).shape();
    RETURN_IF_ERROR(CheckRows(shape, ctx.input(1).shape(), ctx.input(2).shape()));
    const UpdateLoop loop = FindUpdateLoop(kOp, dtype_);
    if (loop == nullptr || (kOp != UpdateOp::kAssign && dtype_ == DT_BOOL)) {
      return errors::InvalidArgument("Unsupported data type: ", DataTypeName(dtype_));
    }
    ASSIGN_OR_RETURN(const DimVector indices, ReadIntegers(ctx.input(1)));
    const Tensor rows = ctx.input(2);
    if (rows.dtype() != dtype_ || ctx.input(0).dtype() != dtype_) {
      return errors::InvalidArgument("x and v must be ", DataTypeName(dtype_));
    }
    std::optional<Tensor> result = ctx.forward_input(0, dtype_, shape);
    if (!result.has_value()) {
      ASSIGN_OR_RETURN(result, ctx.input(0).DeepCopy(ctx.allocator()));
    }
    const int64_t n = shape.dim_size(0);
    if (shape.num_elements() > 0) {
      const int64_t width = shape.num_elements() / n, bytes = width * static_cast<int64_t>(DataTypeSize(dtype_));
      for (size_t k = 0; k < indices.size(); ++k) {
        const int64_t row = (indices[k] % n + n) % n;
        loop(static_cast<char*>(result->raw_data()) + row * bytes,
             static_cast<const char*>(rows.raw_data()) + static_cast<int64_t>(k) * bytes, 1, width);
      }
    }
    ctx.set_output(0, *std::move(result));
    return absl::OkStatus();
  }

 private:
  DataType dtype_ = DT_INVALID;
};

class ParallelConcatKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("T", &dtype_));
    return ctx.GetAttr("shape", &shape_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    if (shape_.dims() < 1 || shape_.dim_size(0) != ctx.num_inputs()) {
      return errors::InvalidArgument("The first dimension of shape ", shape_.ToString(),
                                     " must be the number of values, ", ctx.num_inputs());
    }
    TensorShape row = shape_;
    RETURN_IF_ERROR(row.SetDim(0, 1));
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      if (ctx.input(i).shape() == row && ctx.input(i).dtype() == dtype_) continue;
      return errors::InvalidArgument("value and update shape doesn't match ", shape_.ToString(), " vs. ",
                                     ctx.input(i).shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape_));
    const int64_t bytes = row.num_elements() * static_cast<int64_t>(DataTypeSize(dtype_));
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      CopyElements(dtype_, static_cast<char*>(output->raw_data()) + i * bytes, ctx.input(i).raw_data(),
                   row.num_elements());
    }
    return absl::OkStatus();
  }

 private:
  DataType dtype_ = DT_INVALID;
  TensorShape shape_;
};

}  // namespace

absl::Status RegisterInplaceKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<InplaceKernel<UpdateOp::kAssign>>(Kernel("InplaceUpdate").Cpu()));
  RETURN_IF_ERROR(kernels.Register<InplaceKernel<UpdateOp::kAdd>>(Kernel("InplaceAdd").Cpu()));
  RETURN_IF_ERROR(kernels.Register<InplaceKernel<UpdateOp::kSub>>(Kernel("InplaceSub").Cpu()));
  return kernels.Register<ParallelConcatKernel>(Kernel("ParallelConcat").Cpu());
}

}  // namespace weir
