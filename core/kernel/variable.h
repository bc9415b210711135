// The object behind reference-typed (VariableV2) and resource (VarHandleOp) variables.
#pragma once

#include <atomic>
#include <shared_mutex>
#include <string>

#include "core/device/resource_manager.h"
#include "core/tensor/tensor.h"

namespace weir {

// A tensor with a mutex.
// - Readers that keep the value take a copy (a reference to its buffer) under the lock.
// - An update of a resource variable whose buffer is shared writes to a new buffer (copy on write), so readers and
//   checkpoints see a consistent value without copying. An update of a reference variable writes in place
//   (docs/decisions/0012).
// - Brief readers use part of a large value for a moment; updates wait for them instead of copying.
class Variable : public Resource {
 public:
  explicit Variable(DataType dtype) : dtype_(dtype) {}

  DataType dtype() const { return dtype_; }
  std::mutex* mutex() { return &mutex_; }
  // Locked shared under mutex(), then held without it, by readers that keep a reference for a moment only and do not
  // block meanwhile.
  std::shared_mutex* brief_readers() { return &brief_readers_; }
  // Guarded by mutex(). Valid only if is_initialized.
  Tensor* tensor() { return &tensor_; }
  bool is_initialized() const { return initialized_.load(std::memory_order_acquire); }
  void set_initialized(bool value) { initialized_.store(value, std::memory_order_release); }
  std::string DebugString() const override;
  int64_t MemoryUsed() const override;

 private:
  const DataType dtype_;
  mutable std::mutex mutex_;
  std::shared_mutex brief_readers_;
  Tensor tensor_;
  std::atomic<bool> initialized_{false};
};

// Makes the buffer of `variable`, whose lock the caller holds, writable in place: waits for its brief readers, then
// clones it if it is shared.
absl::Status PrepareToUpdate(Variable& variable, Allocator* allocator);

}  // namespace weir
