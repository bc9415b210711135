// The memory of an embedding table's rows.
#pragma once

#include <cstdint>
#include <vector>

#include "core/memory/allocator.h"
#include "core/status.h"

namespace weir {

struct EmbeddingRowInfo {
  static constexpr uint64_t kFree = UINT64_MAX;

  int64_t key = 0;           // of a free row: the next free one
  uint64_t version = kFree;  // the table's when the row last changed
  uint32_t frequency = 0;    // pushes that named the key, up to the largest
  uint32_t last_used = 0;    // step, or second since 1970, of the last of them
};

// Rows of one size, each with its EmbeddingRowInfo before it, in slabs that grow to half a MiB: they never move, and
// what is not used is little. Freed rows are used again; slabs stay, but for the last one. Not thread-safe.
class RowSlabs {
 public:
  using Id = uint32_t;
  // Ids are below 2^31.
  static constexpr size_t kMaxSlabs = 1 << 15;
  static constexpr int64_t kLargestSlab = 512 << 10;

  // Rows of `bytes`, in slabs of up to `largest_slab`. With `marks`, rows can be marked.
  RowSlabs(Allocator* allocator, int64_t bytes, int64_t largest_slab = kLargestSlab, bool marks = false);
  ~RowSlabs();
  RowSlabs(const RowSlabs&) = delete;

  // A row whose content is undefined, its version not kFree. RESOURCE_EXHAUSTED when the machine has no memory left.
  absl::StatusOr<Id> Add();
  void Free(Id id);
  void Clear();

  EmbeddingRowInfo& info(Id id) const { return *reinterpret_cast<EmbeddingRowInfo*>(row(id)); }
  char* data(Id id) const { return row(id) + sizeof(EmbeddingRowInfo); }
  // A row from its info to its end.
  char* row(Id id) const { return slabs_[id >> kOffsetBits] + (id & ((1 << kOffsetBits) - 1)) * row_bytes_; }
  int64_t row_bytes() const { return row_bytes_; }
  int64_t bytes() const { return bytes_; }

  // Marks stay with the row until they are taken.
  void Mark(Id id) { marks_[id >> kOffsetBits][(id & 0xFFFF) / 64] |= uint64_t{1} << (id % 64); }
  bool TakeMark(Id id);

  // Rows that Add gives without another slab, and those in use.
  int64_t free_rows() const { return free_ + (slabs_.empty() ? 0 : RowsOf(slabs_.size() - 1) - used_in_last_); }
  int64_t used_rows() const { return used_; }
  int64_t num_slabs() const { return static_cast<int64_t>(slabs_.size()); }
  // Rows that Add gives if it may take this much more memory; counts no further than `most`.
  int64_t RoomWithin(int64_t bytes, int64_t most) const;
  // Of the first slabs.
  int64_t BytesOfFirst(int64_t slabs) const;
  // Gives the last slab back; its rows in use move to free rows of others, of which there are enough if
  // CanRemoveLastSlab. Calls moved(from, to) once the content is at `to`, and before `from` is gone.
  bool CanRemoveLastSlab() const;
  template <typename Fn>
  void RemoveLastSlab(Fn&& moved) {
    const size_t last = slabs_.size() - 1;
    LeaveFreeRowsOf(last);
    for (int64_t i = 0; i < used_in_last_; ++i) {
      const Id from = MakeId(last, i);
      if (info(from).version != EmbeddingRowInfo::kFree) moved(from, CopyToFree(from));
    }
    DropLastSlab();
  }

  // Calls fn(id) for the rows in use, in the order of their memory.
  template <typename Fn>
  void ForEach(Fn&& fn) const {
    for (size_t slab = 0; slab < slabs_.size(); ++slab) {
      const int64_t rows = slab + 1 == slabs_.size() ? used_in_last_ : RowsOf(slab);
      for (int64_t i = 0; i < rows; ++i) {
        const Id id = MakeId(slab, i);
        if (info(id).version != EmbeddingRowInfo::kFree) fn(id);
      }
    }
  }
  // Steps through all rows, free ones too, in a circle: the row behind `id`. There is at least one row.
  Id Next(Id id) const;

 private:
  static constexpr int kOffsetBits = 16;

  static Id MakeId(size_t slab, int64_t offset) { return static_cast<Id>(slab << kOffsetBits | offset); }
  int64_t SlabBytes(size_t slab) const;
  int64_t RowsOf(size_t slab) const;
  absl::Status AddSlab();
  void LeaveFreeRowsOf(size_t slab);
  Id CopyToFree(Id from);
  void DropLastSlab();

  Allocator* const allocator_;
  const int64_t row_bytes_, largest_slab_;
  const bool has_marks_;
  std::vector<char*> slabs_;
  std::vector<std::vector<uint64_t>> marks_;
  int64_t used_in_last_ = 0;  // rows of the last slab that were given out
  int64_t bytes_ = 0;
  int64_t first_free_ = -1;
  int64_t free_ = 0, used_ = 0;  // rows behind first_free_, and in use
};

}  // namespace weir
