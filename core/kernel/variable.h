// The object behind reference-typed (VariableV2) and resource (VarHandleOp) variables.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>

#include "absl/functional/function_ref.h"
#include "core/device/resource_manager.h"
#include "core/kernel/variable_snapshot.h"
#include "core/tensor/tensor.h"

namespace weir {

// Holds one T, or none. Thread-safe, and no call waits for another: a thread of the lowest priority fills it.
template <typename T>
class SpareSlot {
 public:
  SpareSlot() = default;
  ~SpareSlot() { Take(); }
  SpareSlot(const SpareSlot&) = delete;
  SpareSlot& operator=(const SpareSlot&) = delete;

  // Releases `spare` if the slot has one already.
  void Offer(std::unique_ptr<T> spare) {
    const int64_t bytes = spare->TotalBytes();
    T* none = nullptr;
    if (!held_.compare_exchange_strong(none, spare.get(), std::memory_order_acq_rel)) return;
    spare.release();
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  // nullptr if the slot is empty.
  std::unique_ptr<T> Take() {
    std::unique_ptr<T> held(held_.exchange(nullptr, std::memory_order_acq_rel));
    if (held != nullptr) bytes_.fetch_sub(held->TotalBytes(), std::memory_order_relaxed);
    return held;
  }
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<T*> held_{nullptr};  // owned
  std::atomic<int64_t> bytes_{0};
};

// A tensor with a mutex.
// - Readers that keep the value take a copy (a reference to its buffer) under the lock.
// - An update of a resource variable whose buffer is shared writes to a new buffer (copy on write), so readers and
//   checkpoints see a consistent value without copying. An update of a reference variable writes in place
//   (docs/decisions/0012).
// - Brief readers use part of a large value for a moment; updates wait for them instead of copying.
// - A snapshot keeps the value of a moment for a checkpoint. Updates of all elements then write to the spare buffer;
//   updates of some elements save them for the snapshot and write in place.
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
  int64_t MemoryUsed() const override;  // with the spare memory

  // Guarded by mutex(), like all that follow. The newest snapshot, if it still exists.
  std::shared_ptr<SharedVariableSnapshot> snapshot() const { return snapshot_.lock(); }
  void set_snapshot(const std::shared_ptr<SharedVariableSnapshot>& snapshot) { snapshot_ = snapshot; }

  // Not guarded. A buffer, already faulted in, for an update that leaves the old one to a snapshot.
  SpareSlot<Tensor>& spare() { return spare_; }
  // Whether there was an update of all elements, so that a snapshot will need a spare buffer.
  bool is_overwritten() const { return is_overwritten_.load(std::memory_order_relaxed); }
  void set_is_overwritten() { is_overwritten_.store(true, std::memory_order_relaxed); }
  // The same for updates of some elements: memory for what a snapshot keeps of them.
  SpareSlot<PreservedPieces>& spare_pieces() { return spare_pieces_; }
  bool is_updated_in_part() const { return is_updated_in_part_.load(std::memory_order_relaxed); }
  void set_is_updated_in_part() { is_updated_in_part_.store(true, std::memory_order_relaxed); }

 private:
  const DataType dtype_;
  mutable std::mutex mutex_;
  std::shared_mutex brief_readers_;
  Tensor tensor_;
  std::atomic<bool> initialized_{false};
  std::weak_ptr<SharedVariableSnapshot> snapshot_;
  SpareSlot<Tensor> spare_;
  SpareSlot<PreservedPieces> spare_pieces_;
  std::atomic<bool> is_overwritten_{false}, is_updated_in_part_{false};
};

// Makes the buffer of `variable`, whose lock the caller holds, writable in place: waits for its brief readers, then
// clones it if it is shared.
absl::Status PrepareToUpdate(Variable& variable, Allocator* allocator);

// The same, for an update of `count` ranges of `bytes` bytes, of which the i-th begins at byte `offset(i)`; negative
// ones are skipped. Copies no more than these for a snapshot.
absl::Status PrepareToUpdateRanges(Variable& variable, Allocator* allocator, int64_t count, int64_t bytes,
                                   absl::FunctionRef<int64_t(int64_t)> offset);

// The same, for an update of every element, which cannot fail any more. Returns the old value, from which the caller
// computes the elements of `variable.tensor()`: the same buffer, or, if others hold that, a new one whose elements are
// undefined until the caller has written them.
absl::StatusOr<Tensor> PrepareToOverwrite(Variable& variable, Allocator* allocator);

// A snapshot of the current value, which is plain and in host memory. The caller holds the lock.
std::shared_ptr<SharedVariableSnapshot> TakeSnapshot(const std::shared_ptr<Variable>& variable, Allocator* allocator);

// Gives the variable the spare buffer, and the memory for parts of its value, that the next snapshot will need, and
// touches each of their pages, at low priority, so that no update does. Locks the variable only briefly.
// RESOURCE_EXHAUSTED if memory for the buffer is short.
absl::Status ReserveForSnapshot(Variable& variable, Allocator* allocator);

}  // namespace weir
