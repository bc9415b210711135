// Files as streams of bytes, compressed or not, and the records in them.
#pragma once

#include <memory>
#include <string>

#include "core/files/file_system.h"
#include "core/status.h"

namespace weir {

enum class Compression { kNone, kZlib, kGzip, kSnappy };
// "", "ZLIB" or "GZIP"; InvalidArgument otherwise.
absl::StatusOr<Compression> ParseCompression(absl::string_view name);
// How many bytes, at most, are compressed together by Snappy.
inline constexpr size_t kSnappyBlock = 256 << 10;

// Bytes in order, with a buffer. Not thread-safe; blocks.
class ByteStream {
 public:
  static constexpr size_t kMaxPiece = size_t{1} << 30;
  static absl::StatusOr<std::unique_ptr<ByteStream>> Open(FileSystem* files, const std::string& path,
                                                          Compression compression, int64_t buffer_size);
  virtual ~ByteStream() = default;

  // Appends `count` bytes, fewer only at the end. Memory grows with what is there, not with `count`, and a little
  // compressed file may hold a lot: RESOURCE_EXHAUSTED beyond kMaxPiece of one.
  absl::Status Read(uint64_t count, std::string* to);
  // A line, without its end; false when there is none left. The same limit.
  absl::StatusOr<bool> ReadLine(std::string* line);
  // Past `count` bytes, or to the end if that comes before.
  absl::Status Skip(uint64_t count);
  // How many bytes were taken so far.
  uint64_t position() const { return position_; }
  // As much as there is, for a file that is not compressed; little, for tests.
  void set_max_piece(size_t bytes) { max_piece_ = bytes; }

 protected:
  // More bytes; none at the end.
  virtual absl::StatusOr<absl::string_view> Refill() = 0;

 private:
  absl::StatusOr<bool> Fill();
  // Moves the first `count` buffered bytes.
  absl::Status Take(size_t count, std::string* to);

  size_t max_piece_ = kMaxPiece;
  absl::string_view buffered_;
  uint64_t position_ = 0;
};

// The next record of a TFRecord file; false at its end. DataLoss, with the offset, where a checksum is wrong or the
// file breaks off.
absl::StatusOr<bool> ReadTfRecord(ByteStream& stream, std::string* record);

}  // namespace weir
