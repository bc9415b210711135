// The rows of a shard that are on disk.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/status.h"
#include "kernels/embedding/cold_file.h"
#include "kernels/embedding/row_slabs.h"

namespace weir {

// Rows, each from its EmbeddingRowInfo to its end, in blocks of a ColdFile, with a checksum each. Their keys stay in
// memory. A row on disk does not change: it is removed, and another is written. Blocks that are mostly removed rows are
// joined by Compact. Not thread-safe but for ReadRows and ReadBlock, which read what a Block names, whatever happens
// to the rows meanwhile.
class ColdRows {
 public:
  using Id = uint32_t;  // below 2^31

  class Block {
   public:
    ~Block() { file_->Free(number_); }
    int64_t size() const { return static_cast<int64_t>(keys_.size()); }
    int64_t live() const { return live_; }
    bool is_live(int64_t i) const { return (bits_[i / 64] >> (i % 64) & 1) != 0; }
    int64_t key(int64_t i) const { return keys_[i]; }
    const std::vector<uint64_t>& live_bits() const { return bits_; }
    // Bounds of its live rows.
    uint64_t latest_version() const { return latest_version_; }
    uint32_t earliest_used() const { return earliest_used_; }
    void set_earliest_used(uint32_t used) { earliest_used_ = used; }

   private:
    friend class ColdRows;
    Block(ColdFile* file, int64_t number) : file_(file), number_(number) {}

    ColdFile* const file_;
    const int64_t number_;
    std::vector<int64_t> keys_;
    std::vector<uint64_t> bits_;  // of live rows
    int64_t live_ = 0;
    uint64_t latest_version_ = 0;
    uint32_t earliest_used_ = UINT32_MAX;
  };

  struct Read {
    std::shared_ptr<const Block> block;
    Id id = 0;
    char* to = nullptr;  // ReadBytes()
  };

  static int64_t RowsPerBlock(int64_t row_bytes);
  static int64_t BlockBytes(int64_t row_bytes) { return RowsPerBlock(row_bytes) * Stride(row_bytes); }

  // `file` has blocks of BlockBytes, and outlives this and all blocks.
  ColdRows(ColdFile* file, int64_t row_bytes);

  int64_t size() const { return size_; }
  int64_t rows_per_block() const { return rows_per_block_; }
  int64_t bytes() const { return bytes_; }  // of memory
  int64_t key(Id id) const { return blocks_[id / rows_per_block_]->keys_[id % rows_per_block_]; }
  Read ReadOf(Id id, char* to = nullptr) const { return {blocks_[id / rows_per_block_], id, to}; }
  // Whether the row that was asked for is still the one of its id.
  bool IsCurrent(const Read& read) const {
    const size_t block = read.id / rows_per_block_;
    return block < blocks_.size() && blocks_[block] == read.block && read.block->is_live(read.id % rows_per_block_);
  }

  // Writes up to rows_per_block rows, whose ids follow that of the first. After an error nothing has changed.
  absl::StatusOr<Id> Add(absl::Span<const char* const> rows);
  void Remove(Id id);
  void Clear();

  // Of a row in a buffer of ReadRows or ReadBlock.
  int64_t ReadBytes() const { return Stride(row_bytes_); }
  // In the order of the disk, and what is near each other together. DATA_LOSS for a damaged row.
  absl::Status ReadRows(absl::Span<Read> reads) const;
  // Sets `rows`, block.size() * ReadBytes().
  absl::Status ReadBlock(const Block& block, std::vector<char>* rows) const;

  // Whether more than a third of the places in blocks is empty.
  bool IsSparse() const { return places_ > size_ + size_ / 2 + 2 * rows_per_block_; }
  // Writes the rows of the emptiest blocks into fewer ones. Calls moved(key, from, to) for each.
  template <typename Fn>
  absl::Status Compact(Fn&& moved) {
    const std::vector<Id> emptiest = EmptiestBlocks();
    std::vector<std::vector<char>> contents(emptiest.size());
    std::vector<const char*> rows;
    std::vector<Id> ids;
    for (size_t i = 0; i < emptiest.size(); ++i) {
      const Block& block = *blocks_[emptiest[i]];
      RETURN_IF_ERROR(ReadBlock(block, &contents[i]));
      for (int64_t k = 0; k < block.size(); ++k) {
        if (!block.is_live(k)) continue;
        rows.push_back(contents[i].data() + k * ReadBytes());
        ids.push_back(static_cast<Id>(emptiest[i] * rows_per_block_ + k));
      }
    }
    for (size_t begin = 0; begin < rows.size(); begin += rows_per_block_) {
      const size_t n = std::min<size_t>(rows_per_block_, rows.size() - begin);
      ASSIGN_OR_RETURN(const Id first, Add(absl::MakeConstSpan(rows).subspan(begin, n)));
      for (size_t i = 0; i < n; ++i) {
        moved(KeyOf(rows[begin + i]), ids[begin + i], static_cast<Id>(first + i));
        Remove(ids[begin + i]);
      }
    }
    return absl::OkStatus();
  }

  // Calls fn(index, block) for each block; fn may remove rows. Block `index` has the ids from index * rows_per_block()
  // on.
  template <typename Fn>
  void ForEachBlock(Fn&& fn) const {
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i] != nullptr) fn(static_cast<Id>(i), blocks_[i]);
    }
  }
  size_t num_blocks() const { return blocks_.size(); }  // some may be nullptr
  const std::shared_ptr<Block>& block(size_t i) const { return blocks_[i]; }

 private:
  static int64_t Stride(int64_t row_bytes) { return row_bytes + int64_t{sizeof(uint64_t)}; }
  static int64_t KeyOf(const char* row) { return reinterpret_cast<const EmbeddingRowInfo*>(row)->key; }
  static int64_t MemoryOf(const Block& block);
  std::vector<Id> EmptiestBlocks() const;
  bool IsIntact(const char* row, int64_t key) const;

  ColdFile* const file_;
  const int64_t row_bytes_, rows_per_block_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::vector<Id> unused_;  // indices of blocks_
  int64_t size_ = 0, places_ = 0, bytes_ = 0;
};

}  // namespace weir
