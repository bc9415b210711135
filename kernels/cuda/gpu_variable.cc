#include "kernels/cuda/gpu_variable.h"

namespace weir {

absl::StatusOr<const ResourceHandle*> HandleOf(const OpKernelContext& ctx, int i) {
  const Tensor& input = ctx.input(i);
  if (input.dtype() == DT_RESOURCE && input.NumElements() == 1) return input.data<ResourceHandle>();
  return errors::InvalidArgument("Input ", i, " must be a resource handle, got ", input.DebugString());
}

absl::StatusOr<LockedGpuVariable> LockedGpuVariable::Lock(const OpKernelContext& ctx, int i, DataType type) {
  ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleOf(ctx, i));
  ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable, ctx.resources()->Lookup<Variable>(*handle));
  LockedGpuVariable locked(std::move(variable));
  if (!locked.variable_->is_initialized()) {
    return errors::FailedPrecondition("Attempting to use uninitialized variables: input ", i, " has no value");
  }
  if (locked.value().dtype() != type) {
    return errors::InvalidArgument("Trying to update variable with wrong dtype. Expected ",
                                   DataTypeName(locked.value().dtype()), " got ", DataTypeName(type));
  }
  return locked;
}

absl::Status LockedGpuVariable::PrepareToUpdate(OpKernelContext& ctx, GpuStream& stream) {
  Tensor& value = *variable_->tensor();
  if (value.NumElements() == 0 || value.RefCountIsOne()) return absl::OkStatus();
  ASSIGN_OR_RETURN(Tensor copy, ctx.allocate_temp(value.dtype(), value.shape()));
  RETURN_IF_ERROR(stream.CopyOnDevice(copy.raw_data(), value.raw_data(), static_cast<size_t>(value.TotalBytes())));
  value = std::move(copy);
  return absl::OkStatus();
}

}  // namespace weir
