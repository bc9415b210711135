#include "kernels/cuda/gpu_variable.h"

#include "core/gpu/gpu_capture.h"

namespace weir {

const DataTypeVector& GpuVariableTypes() {
  static const auto* const types = new DataTypeVector{DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64, DT_BOOL};
  return *types;
}

absl::StatusOr<LockedGpuVariable> LockedGpuVariable::Lock(const OpKernelContext& ctx, int i, DataType type) {
  ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleFromInput(ctx, i));
  ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable, ctx.resources()->Lookup<Variable>(*handle));
  LockedGpuVariable locked(std::move(variable));
  if (!locked.variable_->is_initialized()) {
    return errors::FailedPrecondition("Attempting to use uninitialized variables: input ", i, " has no value");
  }
  if (locked.value().dtype() != type) {
    return errors::InvalidArgument("Trying to update variable with wrong dtype. Expected ",
                                   DataTypeName(locked.value().dtype()), " got ", DataTypeName(type));
  }
  if (GpuCapture* const capture = GpuCapture::Current()) {
    RETURN_IF_ERROR(capture->Use(*locked.variable_, /*updates=*/false));
  }
  return locked;
}

absl::Status LockedGpuVariable::PrepareToUpdate(OpKernelContext& ctx, GpuStream& stream) {
  Tensor& value = *variable_->tensor();
  if (value.NumElements() == 0) return absl::OkStatus();
  GpuCapture* const capture = GpuCapture::Current();
  if (value.RefCountIsOne()) return capture == nullptr ? absl::OkStatus() : capture->Use(*variable_, /*updates=*/true);
  if (capture != nullptr) {
    return errors::FailedPrecondition("a variable is to be updated in place while somebody holds its former value");
  }
  ASSIGN_OR_RETURN(Tensor copy, ctx.allocate_temp(value.dtype(), value.shape()));
  RETURN_IF_ERROR(stream.CopyOnDevice(copy.raw_data(), value.raw_data(), static_cast<size_t>(value.TotalBytes())));
  value = std::move(copy);
  return absl::OkStatus();
}

}  // namespace weir
