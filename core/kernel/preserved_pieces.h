// Copies of parts of a buffer, kept for a snapshot while updates change the parts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/memory/allocator.h"

namespace weir {

// Pieces have a fixed size: a row or a few. Updates add them, one update at a time; one other thread reads those that
// were added. The memory can be used for one snapshot after the other.
class PreservedPieces {
 public:
  static constexpr int64_t kPiece = 1024;
  static constexpr int64_t kMaxSlab = 2 << 20;  // a huge page

  // For a buffer of `bytes`; nullptr without memory. `allocator` outlives this.
  static std::unique_ptr<PreservedPieces> Make(int64_t bytes, Allocator* allocator);
  ~PreservedPieces();
  PreservedPieces(const PreservedPieces&) = delete;

  // --- While no snapshot has them ---
  // Makes them empty, and touches memory for as many pieces as there were, one slab at least, so that updates neither
  // allocate it nor fault it in: where a thread of low priority holds a lock of the kernel, those would wait for it.
  // Memory beyond an eighth of the buffer is released.
  void Prepare();
  bool is_prepared() const { return is_prepared_; }
  bool IsFor(int64_t bytes) const { return bytes == bytes_; }

  // --- Updates ---
  bool Has(int64_t piece) const { return number(piece).load(std::memory_order_relaxed) != 0; }
  // Keeps the bytes of `piece`, of which the buffer may have fewer than kPiece. False without memory.
  bool Add(int64_t piece, const char* data);

  // --- The reader ---
  // nullptr for a piece that was not added.
  const char* Find(int64_t piece) const;

  int64_t TotalBytes() const;
  // The bytes of those that Make and Prepare return for a buffer of `bytes`.
  static int64_t FirstBytes(int64_t bytes);

 private:
  struct Free {
    void operator()(uint32_t* array) const;
  };

  PreservedPieces(int64_t bytes, Allocator* allocator);
  std::atomic_ref<uint32_t> number(int64_t piece) const { return std::atomic_ref(numbers_[piece]); }
  char* At(uint32_t number) const {
    return slabs_[(number - 1) / pieces_in_slab_] + (number - 1) % pieces_in_slab_ * kPiece;
  }
  int64_t slab_bytes() const { return pieces_in_slab_ * kPiece; }
  bool AddSlab();
  void ReleaseSlabs(int64_t left);

  const int64_t bytes_, num_pieces_, pieces_in_slab_;
  Allocator* const allocator_;
  std::unique_ptr<uint32_t[], Free> numbers_;  // for each piece, how many had been added with it; 0: it is not
  std::unique_ptr<char*[]> slabs_;             // hold the added pieces in that order
  int64_t num_slabs_ = 0;
  uint32_t num_added_ = 0;
  bool is_prepared_ = true;
};

}  // namespace weir
