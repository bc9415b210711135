#include "kernels/cuda/gpu_variable.h"

#include <map>
#include <optional>
#include <utility>

#include "core/gpu/gpu_capture.h"

namespace weir {

const DataTypeVector& GpuVariableTypes() {
  static const auto* const types = new DataTypeVector{DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64, DT_BOOL};
  return *types;
}

namespace {

absl::StatusOr<std::shared_ptr<Variable>> Find(const OpKernelContext& ctx, int i) {
  ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleFromInput(ctx, i));
  return ctx.resources()->Lookup<Variable>(*handle);
}

}  // namespace

absl::StatusOr<LockedGpuVariable> LockedGpuVariable::Lock(const OpKernelContext& ctx, int i, DataType type) {
  ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable, Find(ctx, i));
  LockedGpuVariable locked(std::move(variable));
  RETURN_IF_ERROR(locked.Check(i, type));
  return locked;
}

absl::StatusOr<std::vector<LockedGpuVariable>> LockedGpuVariable::LockAll(const OpKernelContext& ctx, int count,
                                                                          DataType type) {
  std::map<std::shared_ptr<Variable>, int> order;  // to the input
  for (int i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable, Find(ctx, i));
    if (const auto [same, is_new] = order.try_emplace(std::move(variable), i); !is_new) {
      return errors::InvalidArgument("Inputs ", same->second, " and ", i, " are the same variable");
    }
  }
  std::vector<std::optional<LockedGpuVariable>> locked(count);
  for (const auto& [variable, i] : order) {
    locked[i] = LockedGpuVariable(variable);
    RETURN_IF_ERROR(locked[i]->Check(i, type));
  }
  std::vector<LockedGpuVariable> result;
  for (auto& variable : locked) result.push_back(*std::move(variable));
  return result;
}

absl::Status LockedGpuVariable::Check(int i, DataType type) {
  if (!variable_->is_initialized()) {
    return errors::FailedPrecondition("Attempting to use uninitialized variables: input ", i, " has no value");
  }
  if (value().dtype() != type) {
    return errors::InvalidArgument("Trying to update variable with wrong dtype. Expected ",
                                   DataTypeName(value().dtype()), " got ", DataTypeName(type));
  }
  GpuCapture* const capture = GpuCapture::Current();
  return capture == nullptr ? absl::OkStatus() : capture->Use(*variable_, /*updates=*/false);
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
