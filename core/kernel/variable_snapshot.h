// The value of a variable at one moment, for a checkpoint that is written while updates go on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/memory/allocator.h"
#include "core/mutex.h"
#include "core/status.h"
#include "core/tensor/tensor.h"

namespace weir {

class VariableSnapshot {
 public:
  virtual ~VariableSnapshot() = default;
  virtual DataType dtype() const = 0;
  virtual const TensorShape& shape() const = 0;
  // Copies `size` bytes from `offset` on to `to`. Ranges are read in ascending order, each once. May block. One thread.
  // RESOURCE_EXHAUSTED if there was no memory to keep the value while updates went on.
  virtual absl::Status Read(int64_t offset, int64_t size, char* to) = 0;
};

// Of a plain value in host memory. Shares its buffer at first.
// - An update of all elements leaves the buffer to the snapshot and writes to another (PrepareToOverwrite).
// - An update of some elements first calls Preserve for them, then writes in place.
// - Bytes that were read are kept no longer.
// Thread-safe.
class SharedVariableSnapshot final : public VariableSnapshot {
 public:
  // `reuse` gets the buffer once all bytes are read. `allocator` provides the memory for Preserve, and outlives this.
  SharedVariableSnapshot(Tensor value, Allocator* allocator, std::function<void(Tensor)> reuse);
  ~SharedVariableSnapshot() override;

  DataType dtype() const override { return dtype_; }
  const TensorShape& shape() const override { return shape_; }
  absl::Status Read(int64_t offset, int64_t size, char* to) override EXCLUDES(mu_);

  // For updates, with the variable locked.
  // Whether `value`, the variable's, has this snapshot's buffer.
  bool Shares(const Tensor& value) const EXCLUDES(mu_);
  // The same, and nothing else refers to the buffer.
  bool IsOnlyOtherHolderOf(const Tensor& value) EXCLUDES(mu_);
  // Keeps these bytes as they are. Without memory for them, gives the snapshot up: updates never fail because of it.
  void Preserve(int64_t offset, int64_t size) EXCLUDES(mu_);
  // Releases the value; reads fail with `why`.
  void GiveUp(const absl::Status& why) EXCLUDES(mu_);

 private:
  // Preserved bytes are kept in pieces of this size.
  static constexpr int64_t kPiece = 4096;
  static constexpr int64_t kSlab = 1 << 20;

  struct FreeArray {
    void operator()(char** array) const;
  };

  char* NewPiece() REQUIRES(mu_);

  const DataType dtype_;
  const TensorShape shape_;
  const int64_t size_;
  Allocator* const allocator_;
  const std::function<void(Tensor)> reuse_;
  mutable Mutex mu_;
  Tensor value_ GUARDED_BY(mu_);
  absl::Status status_ GUARDED_BY(mu_);
  int64_t read_ GUARDED_BY(mu_) = 0;  // bytes before this have been read
  // Of each piece, the bytes that it had; nullptr if they are still in value_. Absent until the first Preserve.
  std::unique_ptr<char*[], FreeArray> preserved_ GUARDED_BY(mu_);
  std::vector<char*> slabs_ GUARDED_BY(mu_);
  int64_t slab_used_ GUARDED_BY(mu_) = kSlab;
};

}  // namespace weir
