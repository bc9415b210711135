#include "core/kernel/variable.h"

namespace weir {

std::string Variable::DebugString() const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!is_initialized()) return absl::StrCat(DataTypeName(dtype_), " uninitialized");
  return absl::StrCat(DataTypeName(dtype_), tensor_.shape().ToString());
}

int64_t Variable::MemoryUsed() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return is_initialized() ? tensor_.TotalBytes() : 0;
}

absl::Status PrepareToUpdate(Variable& variable, Allocator* allocator) {
  Tensor* tensor = variable.tensor();
  if (tensor->buffer() == nullptr || tensor->NumElements() == 0 || tensor->RefCountIsOne()) return absl::OkStatus();
  variable.brief_readers()->lock();  // none begins while the caller holds mutex()
  variable.brief_readers()->unlock();
  if (tensor->RefCountIsOne()) return absl::OkStatus();
  ASSIGN_OR_RETURN(*tensor, tensor->DeepCopy(allocator));
  return absl::OkStatus();
}

}  // namespace weir
