// The file of rows that do not fit into memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/mutex.h"
#include "core/status.h"

namespace weir {

// Thread-safe. Blocks of one size that are written once, read any number of times, and freed. The file has no name any
// more once it is open: the system deletes it with the process, however that ends. Errors name the file and the table:
// RESOURCE_EXHAUSTED for a full disk, a quota or a limit of the process, otherwise DATA_LOSS. Calls wait for the disk.
class ColdFile {
 public:
  // Makes the folder if it is missing, but not its parents.
  static absl::StatusOr<std::unique_ptr<ColdFile>> Create(const std::string& folder, const std::string& table,
                                                          int64_t block_bytes);
  ~ColdFile();
  ColdFile(const ColdFile&) = delete;

  int64_t block_bytes() const { return block_bytes_; }
  // Writes up to block_bytes, and returns the number of the block.
  absl::StatusOr<int64_t> Write(absl::Span<const char> bytes);
  void Free(int64_t block);

  struct Range {
    int64_t block = 0, offset = 0, size = 0;
    char* to = nullptr;
  };
  // Sorts the ranges and reads those that are near each other together; the disk gets all requests at once.
  absl::Status Read(absl::Span<Range> ranges) const;
  // DATA_LOSS for content that is not what was written.
  absl::Status Damaged(int64_t block, int64_t offset) const;

  int64_t bytes_read() const { return bytes_read_.load(std::memory_order_relaxed); }
  int64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  // Of the file, with free blocks.
  int64_t bytes() const;

 private:
  ColdFile(int fd, std::string path, std::string table, int64_t block_bytes)
      : fd_(fd), path_(std::move(path)), table_(std::move(table)), block_bytes_(block_bytes) {}
  int64_t Position(const Range& range) const { return range.block * block_bytes_ + range.offset; }
  absl::Status ReadAt(int64_t position, int64_t size, char* to) const;
  absl::Status Error(const char* what, int64_t position, int error) const;

  const int fd_;
  const std::string path_, table_;
  const int64_t block_bytes_;
  mutable std::atomic<int64_t> bytes_read_{0};
  std::atomic<int64_t> bytes_written_{0};
  mutable Mutex mu_;
  int64_t blocks_ GUARDED_BY(mu_) = 0;
  std::vector<int64_t> free_ GUARDED_BY(mu_);
};

}  // namespace weir
