// The value of a variable at one moment, for a checkpoint that is written while updates go on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/kernel/preserved_pieces.h"
#include "core/memory/allocator.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "core/threads/cancellation.h"

namespace weir {

class VariableSnapshot {
 public:
  virtual ~VariableSnapshot() = default;
  virtual DataType dtype() const = 0;
  virtual const TensorShape& shape() const = 0;
  // Copies `size` bytes from `offset` on to `to`. Ranges are read in ascending order, each once. One thread. May block;
  // returns the status of `cancellation` (may be nullptr) soon after it starts. RESOURCE_EXHAUSTED if there was no
  // memory to keep the value while updates went on.
  virtual absl::Status Read(int64_t offset, int64_t size, char* to, CancellationManager* cancellation) = 0;
};

// Of a plain value in host memory. Shares its buffer at first.
// - An update of all elements leaves the buffer to the snapshot and writes to another (PrepareToOverwrite).
// - An update of some elements first calls Preserve for them, then writes in place.
// - Bytes that were read are kept no longer.
// - Updates never wait for the reader, whose thread has the lowest priority, so there is no lock. The reader copies
//   bytes that an update may be changing, then replaces those that were preserved meanwhile.
// One thread reads; updates come from any threads, one at a time, with the variable locked.
class SharedVariableSnapshot final : public VariableSnapshot {
 public:
  // Called with what the variable takes back.
  struct Reuse {
    std::function<void(Tensor)> buffer;                            // once all bytes are read
    std::function<void(std::unique_ptr<PreservedPieces>)> pieces;  // at the end
  };
  // `allocator` provides the memory for Preserve, and outlives this. `pieces`: memory that is ready, or nullptr.
  SharedVariableSnapshot(Tensor value, Allocator* allocator, Reuse reuse,
                         std::unique_ptr<PreservedPieces> pieces = nullptr);
  ~SharedVariableSnapshot() override;

  DataType dtype() const override { return dtype_; }
  const TensorShape& shape() const override { return shape_; }
  absl::Status Read(int64_t offset, int64_t size, char* to, CancellationManager* cancellation) override;

  // For updates. Whether `value`, the variable's, has this snapshot's buffer.
  bool Shares(const Tensor& value) const;
  // The same, and nothing else refers to the buffer.
  bool IsOnlyOtherHolderOf(const Tensor& value);
  // Keeps these bytes as they are. Without memory for them, gives the snapshot up: updates never fail because of it.
  void Preserve(int64_t offset, int64_t size);
  // From now on updates may change the buffer in place; reads fail with `why`.
  void GiveUp(const absl::Status& why);

 private:
  // The user of value_: the reader, an update (for an instant), or nobody once it is released.
  enum class Holder { kReader, kUpdate, kNobody };

  // The status that GiveUp got; OK before.
  absl::Status GivenUp() const;
  // Replaces the bytes of preserved pieces in a copy of the value's.
  void ReplacePreserved(int64_t offset, int64_t size, char* copy) const;
  // The value, the first time; then an empty tensor.
  Tensor Release();
  PreservedPieces* MakePieces();

  const DataType dtype_;
  const TensorShape shape_;
  const int64_t size_;
  const char* const data_;            // of the value
  const TensorBuffer* const buffer_;  // the value's; only to be compared
  Allocator* const allocator_;
  const Reuse reuse_;
  std::atomic<Holder> holder_{Holder::kReader};
  Tensor value_;
  std::atomic<int64_t> read_{0};  // bytes before this have been read
  std::atomic<bool> is_given_up_{false};
  absl::Status why_;  // set before is_given_up_
  // Changed by the reader between its copy of bytes and its look at what was preserved, and by updates between
  // preserving bytes and changing them: whichever is second sees what the other did before.
  std::atomic<uint32_t> turn_{0};
  std::atomic<PreservedPieces*> pieces_;  // owned; made by the first Preserve unless they were ready
};

}  // namespace weir
