// Reading a file from front to back, by lines or by numbers of bytes.
#pragma once

#include <memory>
#include <string>

#include "core/files/file_system.h"

namespace weir {

// Not thread-safe. Blocks for I/O.
class BufferedFile {
 public:
  static constexpr size_t kBufferSize = size_t{1} << 18;
  // A line or record may not be longer.
  static constexpr size_t kMaxPiece = size_t{1} << 30;

  explicit BufferedFile(std::unique_ptr<ReadableFile> file) : file_(std::move(file)) {}

  // The next line, without its end ("\n" or "\r\n"; other "\r" are dropped too). OutOfRange at the end of the file.
  absl::Status ReadLine(std::string* line);
  // The next `size` bytes. OutOfRange at the end of the file; `bytes` then has what was left.
  absl::Status Read(size_t size, std::string* bytes);
  // OutOfRange where the file ends before.
  absl::Status Skip(uint64_t size);
  // Where the next read begins.
  uint64_t position() const { return buffer_start_ + next_; }
  const ReadableFile& file() const { return *file_; }

 private:
  // OutOfRange when nothing follows.
  absl::Status Fill();

  const std::unique_ptr<ReadableFile> file_;
  std::string buffer_;
  uint64_t buffer_start_ = 0;  // of the buffer in the file
  size_t next_ = 0;            // in the buffer
};

// What `file` holds, decompressed: "ZLIB" or "GZIP". To be read from front to back; has no known size. DataLoss for
// what is not in that format.
std::unique_ptr<ReadableFile> NewInflatedFile(std::unique_ptr<ReadableFile> file, bool gzip);

}  // namespace weir
