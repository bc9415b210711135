// Assignments to a strided slice: of variables (StridedSliceAssign, ResourceStridedSliceAssign) and of values
// (TensorStridedSliceUpdate).
#include "kernels/array/family.h"
#include "kernels/array/slicing/args_strided_slice.h"
#include "kernels/device/broadcast_steps.h"
#include "kernels/device/elements.h"
#include "kernels/state/variable_access.h"

namespace weir {
namespace {

// Inputs: what is assigned to, begin, end, strides, value.
class SliceAssignBase : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("T", &dtype_));
    return args_.Init(ctx);
  }

 protected:
  // `target` is the caller's alone.
  absl::Status Assign(OpKernelContext& ctx, const StridedSliceSpec& spec, const Tensor& value, Tensor& target) const {
    ASSIGN_OR_RETURN(const TensorShape shape, spec.output.AsTensorShape());
    if (shape.num_elements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const DimVector steps, AssignedSteps(value.shape(), shape));
    Tensor source = value;
    if (value.NumElements() != shape.num_elements()) {
      ASSIGN_OR_RETURN(source, ctx.allocate_temp(dtype_, shape));
      StridedCopy(ctx, dtype_, shape.dim_sizes(), value.raw_data(), steps, source.raw_data(),
                  DenseSteps(shape.dim_sizes()));
    }
    const StridedSlicePlaces places(spec, target.shape());
    char* const to = static_cast<char*>(target.raw_data()) + places.start * static_cast<int64_t>(DataTypeSize(dtype_));
    StridedCopy(ctx, dtype_, spec.size, source.raw_data(), DenseSteps(spec.size), to, places.steps);
    return absl::OkStatus();
  }

  absl::Status CheckTypes(DataType target, DataType value) const {
    if (target == dtype_ && value == dtype_) return absl::OkStatus();
    return errors::InvalidArgument("l-value dtype ", DataTypeName(target), " does not match r-value dtype ",
                                   DataTypeName(value));
  }

  DataType dtype_ = DT_INVALID;
  StridedSliceArgs args_;
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
    ASSIGN_OR_RETURN(const StridedSliceSpec spec, args_.Select(ctx, target.shape()));
    RETURN_IF_ERROR(PrepareToUpdate(variable, ctx.allocator()));
    return Assign(ctx, spec, value, target);
  }
};

class TensorSliceUpdateKernel : public SliceAssignBase {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape shape = ctx.input(0).shape();
    RETURN_IF_ERROR(CheckTypes(ctx.input(0).dtype(), ctx.input(4).dtype()));
    ASSIGN_OR_RETURN(const StridedSliceSpec spec, args_.Select(ctx, shape));
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
