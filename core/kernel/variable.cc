#include "core/kernel/variable.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/memory/memory_info.h"
#include "core/memory/touch_pages.h"
#include "core/threads/low_priority.h"

namespace weir {
namespace {

// Memory that ReserveForSnapshot leaves to other programs.
constexpr int64_t kMemoryMargin = int64_t{512} << 20;

bool Fits(const Tensor& buffer, const Tensor& value) {
  return buffer.buffer() != nullptr && buffer.dtype() == value.dtype() && buffer.shape() == value.shape();
}

// Whether a variable has a value, however it was assigned: through a handle, or through a reference, which sets the
// tensor alone. Before that, the tensor of a reference variable has a type, a shape and a buffer without memory.
bool HasValue(bool is_initialized, const Tensor& tensor) {
  return is_initialized || (tensor.buffer() != nullptr && tensor.IsInitialized());
}

// Whether updates in place are possible, perhaps after waiting for brief readers.
bool IsExclusive(Variable& variable) {
  Tensor* const tensor = variable.tensor();
  if (tensor->buffer() == nullptr || tensor->NumElements() == 0 || tensor->RefCountIsOne()) return true;
  variable.brief_readers()->lock();  // none begins while the caller holds mutex()
  variable.brief_readers()->unlock();
  return tensor->RefCountIsOne();
}

// A buffer like the variable's: the spare one if a snapshot holds the variable's.
absl::StatusOr<Tensor> NewBuffer(Variable& variable, Allocator* allocator, bool for_snapshot) {
  const Tensor& value = *variable.tensor();
  if (for_snapshot) {
    if (const auto spare = variable.spare().Take(); spare != nullptr && Fits(*spare, value)) return std::move(*spare);
  }
  return Tensor::Allocate(allocator, value.dtype(), value.shape());
}

// The same, or, for lack of memory, none: the snapshot is given up, and the variable's buffer is its own.
absl::StatusOr<Tensor> NewBufferOrGiveUp(Variable& variable, Allocator* allocator) {
  const std::shared_ptr<SharedVariableSnapshot> snapshot = variable.snapshot();
  absl::StatusOr<Tensor> fresh =
      NewBuffer(variable, allocator, snapshot != nullptr && snapshot->Shares(*variable.tensor()));
  if (fresh.ok() || snapshot == nullptr || !snapshot->IsOnlyOtherHolderOf(*variable.tensor())) return fresh;
  snapshot->GiveUp(fresh.status());
  return Tensor();
}

}  // namespace

std::string Variable::DebugString() const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!HasValue(is_initialized(), tensor_)) return absl::StrCat(DataTypeName(dtype_), " uninitialized");
  return absl::StrCat(DataTypeName(dtype_), tensor_.shape().ToString());
}

int64_t Variable::MemoryUsed() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return HasValue(is_initialized(), tensor_) ? tensor_.TotalBytes() + spare_.bytes() + spare_pieces_.bytes() : 0;
}

absl::Status PrepareToUpdate(Variable& variable, Allocator* allocator) {
  if (IsExclusive(variable)) return absl::OkStatus();
  Tensor* const tensor = variable.tensor();
  if (!IsPlainType(tensor->dtype())) {
    ASSIGN_OR_RETURN(*tensor, tensor->DeepCopy(allocator));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor fresh, NewBufferOrGiveUp(variable, allocator));
  if (fresh.buffer() == nullptr) return absl::OkStatus();
  std::memcpy(fresh.raw_data(), tensor->raw_data(), tensor->TotalBytes());
  *tensor = std::move(fresh);
  return absl::OkStatus();
}

absl::Status PrepareToUpdateRanges(Variable& variable, Allocator* allocator, int64_t count, int64_t bytes,
                                   absl::FunctionRef<int64_t(int64_t)> offset) {
  variable.set_is_updated_in_part();
  if (IsExclusive(variable)) return absl::OkStatus();
  const std::shared_ptr<SharedVariableSnapshot> snapshot = variable.snapshot();
  if (snapshot == nullptr || !snapshot->IsOnlyOtherHolderOf(*variable.tensor())) {
    return PrepareToUpdate(variable, allocator);
  }
  for (int64_t i = 0; i < count; ++i) {
    if (const int64_t at = offset(i); at >= 0) snapshot->Preserve(at, bytes);
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> PrepareToOverwrite(Variable& variable, Allocator* allocator) {
  variable.set_is_overwritten();
  Tensor* const tensor = variable.tensor();
  if (IsExclusive(variable)) return *tensor;
  ASSIGN_OR_RETURN(Tensor fresh, NewBufferOrGiveUp(variable, allocator));
  if (fresh.buffer() == nullptr) return *tensor;
  return std::exchange(*tensor, std::move(fresh));
}

std::shared_ptr<SharedVariableSnapshot> TakeSnapshot(const std::shared_ptr<Variable>& variable, Allocator* allocator) {
  const std::weak_ptr<Variable> weak = variable;
  const auto reuse_buffer = [weak](Tensor buffer) {
    const std::shared_ptr<Variable> variable = weak.lock();
    if (variable == nullptr || !variable->is_overwritten() || !buffer.RefCountIsOne()) return;
    variable->spare().Offer(std::make_unique<Tensor>(std::move(buffer)));
  };
  const auto reuse_pieces = [weak](std::unique_ptr<PreservedPieces> pieces) {
    if (const std::shared_ptr<Variable> variable = weak.lock()) variable->spare_pieces().Offer(std::move(pieces));
  };
  std::unique_ptr<PreservedPieces> pieces = variable->spare_pieces().Take();
  if (pieces != nullptr && !(pieces->is_prepared() && pieces->IsFor(variable->tensor()->TotalBytes()))) pieces.reset();
  auto snapshot = std::make_shared<SharedVariableSnapshot>(
      *variable->tensor(), allocator, SharedVariableSnapshot::Reuse{reuse_buffer, reuse_pieces}, std::move(pieces));
  variable->set_snapshot(snapshot);
  return snapshot;
}

namespace {

// Empty, and touched, at low priority. None if memory is short: a snapshot then allocates them as it needs them.
void ReservePieces(Variable& variable, int64_t bytes, Allocator* allocator) {
  std::unique_ptr<PreservedPieces> pieces = variable.spare_pieces().Take();
  if (pieces == nullptr || !pieces->IsFor(bytes)) {
    if (AvailableMemory() < PreservedPieces::FirstBytes(bytes) + kMemoryMargin) return;
    pieces = PreservedPieces::Make(bytes, allocator);
  }
  if (pieces == nullptr) return;
  RunAtLowPriority([&] {
    pieces->Prepare();
    return absl::OkStatus();
  }).IgnoreError();
  variable.spare_pieces().Offer(std::move(pieces));
}

absl::Status ReserveBuffer(Variable& variable, Allocator* allocator) {
  DataType dtype;
  TensorShape shape;
  {
    const std::lock_guard<std::mutex> lock(*variable.mutex());
    const Tensor& value = *variable.tensor();
    if (auto spare = variable.spare().Take(); spare != nullptr && Fits(*spare, value)) {
      variable.spare().Offer(std::move(spare));
      return absl::OkStatus();
    }
    dtype = value.dtype();
    shape = value.shape();
  }
  const int64_t bytes = shape.num_elements() * static_cast<int64_t>(DataTypeSize(dtype));
  if (const int64_t available = AvailableMemory(); available < bytes || available - bytes < kMemoryMargin) {
    return errors::ResourceExhausted("A second buffer of ", bytes, " bytes for a variable ", shape.ToString(),
                                     " would leave too little memory: ", available, " bytes are available, and ",
                                     kMemoryMargin, " are left to others");
  }
  ASSIGN_OR_RETURN(Tensor spare, Tensor::Allocate(allocator, dtype, shape));
  // Only this at low priority: a thread that holds the variable's lock must not wait for a processor.
  RETURN_IF_ERROR(RunAtLowPriority([&] {
    TouchPages(spare.raw_data(), bytes);
    return absl::OkStatus();
  }));
  const std::lock_guard<std::mutex> lock(*variable.mutex());
  if (Fits(spare, *variable.tensor())) variable.spare().Offer(std::make_unique<Tensor>(std::move(spare)));
  return absl::OkStatus();
}

}  // namespace

absl::Status ReserveForSnapshot(Variable& variable, Allocator* allocator) {
  int64_t bytes;
  {
    const std::lock_guard<std::mutex> lock(*variable.mutex());
    const Tensor& value = *variable.tensor();
    if (!variable.is_initialized() || value.NumElements() == 0 || !IsPlainType(value.dtype())) return absl::OkStatus();
    bytes = value.TotalBytes();
  }
  if (variable.is_updated_in_part()) ReservePieces(variable, bytes, allocator);
  return variable.is_overwritten() ? ReserveBuffer(variable, allocator) : absl::OkStatus();
}

}  // namespace weir
