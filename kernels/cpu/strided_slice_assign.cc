// Assignments to a strided slice: of variables (StridedSliceAssign, ResourceStridedSliceAssign) and of values
// (TensorStridedSliceUpdate).
#include "core/index_tensor.h"
#include "kernels/cpu/coordination_families.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/variable_access.h"
#include "kernels/ops/strided_slice_spec.h"

namespace weir {
namespace {

// `value` as a dense tensor of `shape`, repeated where it has one element or lacks a dimension.
absl::StatusOr<Tensor> BroadcastTo(OpKernelContext& ctx, const Tensor& value, const TensorShape& shape) {
  int extra = value.dims() - shape.dims();
  DimVector dims(value.shape().dim_sizes().begin(), value.shape().dim_sizes().end());
  while (extra > 0 && dims[0] == 1) {
    dims.erase(dims.begin());
    --extra;
  }
  bool fits = extra <= 0;
  DimVector steps(shape.dims(), 0);
  const DimVector dense = DenseSteps(dims);
  for (int i = 0; fits && i < static_cast<int>(dims.size()); ++i) {
    const int to = i - extra;
    fits = dims[i] == 1 || dims[i] == shape.dim_size(to);
    if (dims[i] != 1) steps[to] = dense[i];
  }
  if (!fits) {
    return errors::InvalidArgument("Cannot broadcast input shape ", value.shape().ToString(), " into final shape ",
                                   shape.ToString());
  }
  if (value.NumElements() == shape.num_elements()) return value;
  ASSIGN_OR_RETURN(Tensor result, ctx.allocate_temp(value.dtype(), shape));
  StridedCopy(ctx, value.dtype(), shape.dim_sizes(), value.raw_data(), steps, result.raw_data(),
              DenseSteps(shape.dim_sizes()));
  return result;
}

// Inputs: what is assigned to, begin, end, strides, value.
class SliceAssignBase : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("T", &dtype_));
    RETURN_IF_ERROR(ctx.GetAttr("begin_mask", &masks_.begin));
    RETURN_IF_ERROR(ctx.GetAttr("end_mask", &masks_.end));
    RETURN_IF_ERROR(ctx.GetAttr("ellipsis_mask", &masks_.ellipsis));
    RETURN_IF_ERROR(ctx.GetAttr("new_axis_mask", &masks_.new_axis));
    return ctx.GetAttr("shrink_axis_mask", &masks_.shrink_axis);
  }

 protected:
  absl::StatusOr<StridedSliceSpec> SpecFor(OpKernelContext& ctx, const TensorShape& shape) const {
    const TensorShape& length = ctx.input(1).shape();
    if (!length.IsVector() || ctx.input(2).shape() != length || ctx.input(3).shape() != length) {
      return errors::InvalidArgument("Expected begin, end, and strides to be 1D equal size tensors, but got shapes ",
                                     length.ToString(), ", ", ctx.input(2).shape().ToString(), ", and ",
                                     ctx.input(3).shape().ToString(), " instead.");
    }
    ASSIGN_OR_RETURN(const DimVector begin, ReadIntegers(ctx.input(1)));
    ASSIGN_OR_RETURN(const DimVector end, ReadIntegers(ctx.input(2)));
    ASSIGN_OR_RETURN(const DimVector strides, ReadIntegers(ctx.input(3)));
    return StridedSliceSpec::Of(shape, masks_, begin, end, strides);
  }

  // `target` is the caller's alone.
  absl::Status Assign(OpKernelContext& ctx, const StridedSliceSpec& spec, const Tensor& value, Tensor& target) const {
    ASSIGN_OR_RETURN(const TensorShape shape, spec.output.AsTensorShape());
    if (shape.num_elements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor source, BroadcastTo(ctx, value, shape));
    DimVector steps = DenseSteps(target.shape().dim_sizes());
    int64_t start = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      start += spec.begin[i] * steps[i];
      // A stride beyond the dimension takes one element, and its product could overflow.
      steps[i] = spec.size[i] <= 1 ? 0 : spec.stride[i] * steps[i];
    }
    char* const to = static_cast<char*>(target.raw_data()) + start * static_cast<int64_t>(DataTypeSize(dtype_));
    StridedCopy(ctx, dtype_, spec.size, source.raw_data(), DenseSteps(spec.size), to, steps);
    return absl::OkStatus();
  }

  absl::Status CheckTypes(DataType target, DataType value) const {
    if (target == dtype_ && value == dtype_) return absl::OkStatus();
    return errors::InvalidArgument("l-value dtype ", DataTypeName(target), " does not match r-value dtype ",
                                   DataTypeName(value));
  }

  DataType dtype_ = DT_INVALID;

 private:
  StridedSliceMasks masks_;
};

class VariableSliceAssignKernel : public SliceAssignBase {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(Update(ctx, ctx.locked_input(4)));
    ForwardReference(ctx);
    return absl::OkStatus();
  }

 private:
  absl::Status Update(OpKernelContext& ctx, const Tensor& value) const {
    ASSIGN_OR_RETURN(VariableRef variable, FindVariable(ctx, 0));
    std::lock_guard<std::mutex> lock(*variable.mutex);
    if (!variable.IsInitialized()) return errors::FailedPrecondition("Attempting to use uninitialized value");
    Tensor& target = *variable.tensor;
    RETURN_IF_ERROR(CheckTypes(target.dtype(), value.dtype()));
    ASSIGN_OR_RETURN(const StridedSliceSpec spec, SpecFor(ctx, target.shape()));
    RETURN_IF_ERROR(PrepareToUpdate(variable, ctx.allocator()));
    return Assign(ctx, spec, value, target);
  }
};

class TensorSliceUpdateKernel : public SliceAssignBase {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape shape = ctx.input(0).shape();
    RETURN_IF_ERROR(CheckTypes(ctx.input(0).dtype(), ctx.input(4).dtype()));
    ASSIGN_OR_RETURN(const StridedSliceSpec spec, SpecFor(ctx, shape));
    const Tensor value = ctx.input(4);
    std::optional<Tensor> result = ctx.forward_input(0, dtype_, shape);
    if (!result.has_value()) {
      ASSIGN_OR_RETURN(result, ctx.input(0).DeepCopy(ctx.allocator()));
    }
    RETURN_IF_ERROR(Assign(ctx, spec, value, *result));
    ctx.set_output(0, *std::move(result));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterStridedSliceAssignKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<VariableSliceAssignKernel>(Kernel("StridedSliceAssign").Cpu()));
  RETURN_IF_ERROR(kernels.Register<VariableSliceAssignKernel>(Kernel("ResourceStridedSliceAssign").Cpu()));
  return kernels.Register<TensorSliceUpdateKernel>(Kernel("TensorStridedSliceUpdate").Cpu());
}

}  // namespace weir
