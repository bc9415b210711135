// Sorted string tables in LevelDB's format, as TensorFlow writes checkpoint indexes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/files/file_system.h"
#include "core/status.h"

namespace weir {

// The last eight bytes of a table, and the type byte of an uncompressed block.
inline constexpr uint64_t kTableMagic = 0xdb4775248b80fb57;
inline constexpr char kTableNoCompression = 0;

// The position of a block in its file, without its trailer.
struct BlockHandle {
  uint64_t offset = 0;
  uint64_t size = 0;
};

// A run of entries whose keys are prefix-compressed against the previous key, with restart points for binary search.
class BlockBuilder {
 public:
  explicit BlockBuilder(int restart_interval) : restart_interval_(restart_interval) {}

  void Add(absl::string_view key, absl::string_view value);
  size_t SizeEstimate() const { return buffer_.size() + 4 * restarts_.size() + 4; }
  bool empty() const { return buffer_.empty(); }
  // Returns the block's bytes; the builder is empty afterwards.
  std::string Finish();

 private:
  const int restart_interval_;
  std::string buffer_;
  std::string last_key_;
  std::vector<uint32_t> restarts_ = {0};
  int since_restart_ = 0;
};

// Writes an uncompressed table. `file` outlives it and is not closed.
class TableWriter {
 public:
  explicit TableWriter(WritableFile* file) : file_(file) {}

  // Keys in strictly ascending order; InvalidArgument otherwise.
  absl::Status Add(absl::string_view key, absl::string_view value);
  absl::Status Finish();

 private:
  absl::StatusOr<BlockHandle> WriteBlock(BlockBuilder* block);
  absl::Status EndDataBlock();
  void AddToIndex(absl::string_view separator);

  WritableFile* const file_;
  BlockBuilder data_{16};
  BlockBuilder index_{1};
  std::string last_key_;
  bool any_key_ = false;
  bool block_ended_ = false;  // its index entry waits for the next key, which allows a shorter separator
  BlockHandle ended_;
  uint64_t offset_ = 0;
};

// Reads a whole table: its entries in order. DataLoss, naming the file and the reason, if anything is malformed. Never
// uses more memory than a small multiple of the file size.
struct TableEntry {
  std::string key;
  std::string value;
};
absl::StatusOr<std::vector<TableEntry>> ReadTable(const ReadableFile& file);

}  // namespace weir
