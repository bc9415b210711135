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
// what is not used is little. Freed rows are used again; slabs stay. Not thread-safe.
class RowSlabs {
 public:
  using Id = uint32_t;

  RowSlabs(Allocator* allocator, int64_t floats);
  ~RowSlabs();
  RowSlabs(const RowSlabs&) = delete;

  // A row whose content is undefined, its version not kFree. RESOURCE_EXHAUSTED when the machine has no memory left.
  absl::StatusOr<Id> Add();
  void Free(Id id);
  void Clear();

  EmbeddingRowInfo& info(Id id) const { return *reinterpret_cast<EmbeddingRowInfo*>(RowAt(id)); }
  float* data(Id id) const { return reinterpret_cast<float*>(RowAt(id) + sizeof(EmbeddingRowInfo)); }
  int64_t bytes() const { return bytes_; }

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
  char* RowAt(Id id) const { return slabs_[id >> kOffsetBits] + (id & ((1 << kOffsetBits) - 1)) * row_bytes_; }
  int64_t SlabBytes(size_t slab) const;
  int64_t RowsOf(size_t slab) const;
  absl::Status AddSlab();

  Allocator* const allocator_;
  const int64_t row_bytes_;
  std::vector<char*> slabs_;
  int64_t used_in_last_ = 0;  // rows of the last slab that were given out
  int64_t bytes_ = 0;
  int64_t first_free_ = -1;
};

}  // namespace weir
