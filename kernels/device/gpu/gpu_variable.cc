#include "kernels/device/gpu/gpu_variable.h"

#include <map>
#include <optional>
#include <utility>

#include "core/gpu/gpu_capture.h"
#include "kernels/device/gpu/body_kernel.h"

namespace weir {

const DataTypeVector& GpuVariableTypes() {
  static const auto* const types = new DataTypeVector(std::begin(kGpuMoved), std::end(kGpuMoved));
  return *types;
}

absl::StatusOr<LockedGpuVariable::Place> LockedGpuVariable::Find(const OpKernelContext& ctx, int i) {
  if (ctx.input_is_ref(i)) return Place{ctx.ref_input(i), ctx.ref_mutex(i), nullptr};
  ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleFromInput(ctx, i));
  ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable, ctx.resources()->Lookup<Variable>(*handle));
  Tensor* const value = variable->tensor();
  std::mutex* const mutex = variable->mutex();
  return Place{value, mutex, std::move(variable)};
}

absl::StatusOr<LockedGpuVariable> LockedGpuVariable::Lock(const OpKernelContext& ctx, int i, DataType type) {
  ASSIGN_OR_RETURN(Place place, Find(ctx, i));
  LockedGpuVariable locked(std::move(place));
  RETURN_IF_ERROR(locked.Check(i, type));
  return locked;
}

absl::StatusOr<std::vector<LockedGpuVariable>> LockedGpuVariable::LockAll(const OpKernelContext& ctx, int count,
                                                                          DataType type) {
  std::map<std::mutex*, std::pair<int, Place>> order;  // and the input
  for (int i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(Place place, Find(ctx, i));
    std::mutex* const mutex = place.mutex;
    if (const auto [same, is_new] = order.try_emplace(mutex, i, std::move(place)); !is_new) {
      return errors::InvalidArgument("Inputs ", same->second.first, " and ", i, " are the same variable");
    }
  }
  std::vector<std::optional<LockedGpuVariable>> locked(count);
  for (auto& [mutex, found] : order) {
    auto& [i, place] = found;
    locked[i] = LockedGpuVariable(std::move(place));
    RETURN_IF_ERROR(locked[i]->Check(i, type));
  }
  std::vector<LockedGpuVariable> result;
  for (auto& variable : locked) result.push_back(*std::move(variable));
  return result;
}

bool LockedGpuVariable::HasValue() const {
  return place_.resource != nullptr ? place_.resource->is_initialized() : value().IsInitialized();
}

absl::Status LockedGpuVariable::Check(int i, DataType type) {
  if (!HasValue()) {
    return errors::FailedPrecondition("Attempting to use uninitialized variables: input ", i, " has no value");
  }
  if (value().dtype() != type) {
    return errors::InvalidArgument("Trying to update variable with wrong dtype. Expected ",
                                   DataTypeName(value().dtype()), " got ", DataTypeName(type));
  }
  GpuCapture* const capture = GpuCapture::Current();
  if (capture == nullptr) return absl::OkStatus();
  if (place_.resource == nullptr) return errors::Internal("A reference's variable is not to be captured");
  return capture->Use(*place_.resource, /*updates=*/false);
}

absl::Status LockedGpuVariable::PrepareToUpdate(OpKernelContext& ctx, GpuStream& stream) {
  Tensor& value = *place_.value;
  if (value.NumElements() == 0) return absl::OkStatus();
  GpuCapture* const capture = GpuCapture::Current();
  if (value.RefCountIsOne()) {
    return capture == nullptr ? absl::OkStatus() : capture->Use(*place_.resource, /*updates=*/true);
  }
  if (capture != nullptr) {
    return errors::FailedPrecondition("a variable is to be updated in place while somebody holds its former value");
  }
  if (place_.resource == nullptr && ReadersSeeUpdates(value)) {
    ASSIGN_OR_RETURN(copies_, FindGpu(ctx.device())->LockCopies(value));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor copy, ctx.allocate_temp(value.dtype(), value.shape()));
  RETURN_IF_ERROR(stream.CopyOnDevice(copy.raw_data(), value.raw_data(), static_cast<size_t>(value.TotalBytes())));
  value = std::move(copy);
  return absl::OkStatus();
}

}  // namespace weir
