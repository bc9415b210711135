// The object behind variables, of both kinds: reference-typed (VariableV2) and resource (VarHandleOp).
#pragma once

#include <atomic>
#include <shared_mutex>
#include <string>

#include "core/resource_manager.h"
#include "core/tensor.h"

namespace weir {

// A tensor with a mutex. Readers that keep the value take a copy (a reference to its buffer) under the lock. An update
// of a resource variable that finds the buffer shared writes into a fresh one (copy on write), so readers and
// checkpoints see a consistent value without a copy of their own; one of a reference variable writes where its readers
// look (docs/decisions/0012). For those who look at some of a large value for a moment an update waits instead.
class Variable : public Resource {
 public:
  explicit Variable(DataType dtype) : dtype_(dtype) {}

  DataType dtype() const { return dtype_; }
  std::mutex* mutex() { return &mutex_; }
  // Locked shared under mutex(), and then held without it, by those who keep a reference for a moment only. They
  // wait for nobody meanwhile.
  std::shared_mutex* brief_readers() { return &brief_readers_; }
  // Guarded by mutex(). Meaningful only when is_initialized.
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

// Makes `variable`'s buffer writable in place by its holder of the lock: waits for its brief readers, then clones it
// when it is shared.
absl::Status PrepareToUpdate(Variable& variable, Allocator* allocator);

}  // namespace weir
