#include "kernels/data/sources/record_stream.h"

#include <snappy.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "core/checkpoint/coding.h"
#include "core/checkpoint/crc32c.h"

namespace weir {
namespace {

constexpr int64_t kDefaultBuffer = 256 << 10;
constexpr int64_t kMaxBuffer = 64 << 20;

class FileStream : public ByteStream {
 public:
  FileStream(std::unique_ptr<ReadableFile> file, size_t buffer_size) : file_(std::move(file)), buffer_(buffer_size) {}
  const std::string& path() const { return file_->path(); }

  absl::StatusOr<absl::string_view> Refill() override {
    ASSIGN_OR_RETURN(const size_t read, file_->Read(offset_, buffer_.size(), buffer_.data()));
    offset_ += read;
    return absl::string_view(buffer_.data(), read);
  }

 private:
  const std::unique_ptr<ReadableFile> file_;
  std::vector<char> buffer_;
  uint64_t offset_ = 0;
};

class InflatingStream : public ByteStream {
 public:
  InflatingStream(std::unique_ptr<FileStream> input, Compression compression, size_t buffer_size)
      : input_(std::move(input)), output_(buffer_size) {
    constexpr int kGzipHeader = 16;
    is_open_ = inflateInit2(&zlib_, MAX_WBITS + (compression == Compression::kGzip ? kGzipHeader : 0)) == Z_OK;
  }
  ~InflatingStream() override {
    if (is_open_) inflateEnd(&zlib_);
  }

  absl::StatusOr<absl::string_view> Refill() override {
    if (!is_open_) return errors::Internal("zlib cannot be initialised");
    for (;;) {
      if (zlib_.avail_in == 0) {
        ASSIGN_OR_RETURN(const absl::string_view more, input_->Refill());
        if (more.empty()) {
          if (is_between_members_) return absl::string_view();
          return errors::DataLoss("inflate() failed: ", input_->path(), " breaks off within its compressed data");
        }
        zlib_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(more.data()));
        zlib_.avail_in = static_cast<uInt>(more.size());
      }
      if (is_between_members_ && has_begun_ && inflateReset(&zlib_) != Z_OK) {
        return errors::Internal("zlib cannot be reset");
      }
      has_begun_ = true;
      is_between_members_ = false;
      zlib_.next_out = reinterpret_cast<Bytef*>(output_.data());
      zlib_.avail_out = static_cast<uInt>(output_.size());
      const int result = inflate(&zlib_, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
        return errors::DataLoss("inflate() failed with error ", result, ": ",
                                zlib_.msg != nullptr ? zlib_.msg : "malformed data", " in ", input_->path());
      }
      is_between_members_ = result == Z_STREAM_END;
      const size_t made = output_.size() - zlib_.avail_out;
      if (made > 0) return absl::string_view(output_.data(), made);
    }
  }

 private:
  const std::unique_ptr<FileStream> input_;
  std::vector<char> output_;
  z_stream zlib_ = {};
  bool is_open_ = false;
  bool has_begun_ = false;
  bool is_between_members_ = true;  // a file may hold several compressed parts, one after the other
};

// Blocks, each behind its compressed length in four bytes, the highest first.
class UnsnappingStream : public ByteStream {
 public:
  explicit UnsnappingStream(std::unique_ptr<FileStream> input) : input_(std::move(input)) {}

  absl::StatusOr<absl::string_view> Refill() override {
    bool more = true;
    // A block may be empty: only the end of the file is the end.
    for (output_.clear(); more && output_.empty();) {
      ASSIGN_OR_RETURN(more, ReadBlock());
    }
    return absl::string_view(output_);
  }

 private:
  absl::StatusOr<bool> ReadBlock() {
    std::string length;
    RETURN_IF_ERROR(input_->Read(4, &length));
    if (length.empty()) return false;
    uint32_t size = 0;
    for (const char byte : length) size = size << 8 | static_cast<uint8_t>(byte);
    compressed_.clear();
    if (length.size() == 4) RETURN_IF_ERROR(input_->Read(size, &compressed_));
    size_t made = 0;
    if (length.size() < 4 || compressed_.size() < size ||
        !snappy::GetUncompressedLength(compressed_.data(), compressed_.size(), &made) || made > kMaxBuffer ||
        !snappy::Uncompress(compressed_.data(), compressed_.size(), &output_)) {
      return errors::DataLoss("Snappy cannot uncompress ", input_->path(), " before byte ", input_->position());
    }
    return true;
  }

  const std::unique_ptr<FileStream> input_;
  std::string compressed_, output_;
};

// `offset`: where the record begins.
absl::Status Truncated(uint64_t offset) {
  return errors::DataLoss("truncated record at ", offset, "' failed with Read less bytes than requested");
}

// `length` bytes and their checksum, of the record that begins at `record`. False at the end of the stream.
absl::StatusOr<bool> ReadChecksummed(ByteStream& stream, uint64_t record, uint64_t length, std::string* data) {
  const uint64_t offset = stream.position();
  constexpr uint64_t kChecksum = 4;
  data->clear();
  RETURN_IF_ERROR(stream.Read(length, data));
  std::string checksum;
  if (data->size() == length) RETURN_IF_ERROR(stream.Read(kChecksum, &checksum));
  if (data->empty() && length > 0) return false;
  if (data->size() < length || checksum.size() < kChecksum) return Truncated(record);
  if (crc32c::Unmask(coding::DecodeFixed32(checksum.data())) != crc32c::Value(*data)) {
    // A length that is none is what other files begin with.
    return errors::DataLoss("corrupted record at ", offset, offset == 0 ? " (Is this even a TFRecord file?)" : "");
  }
  return true;
}

}  // namespace

absl::StatusOr<Compression> ParseCompression(absl::string_view name) {
  if (name.empty()) return Compression::kNone;
  if (name == "ZLIB") return Compression::kZlib;
  if (name == "GZIP") return Compression::kGzip;
  return errors::InvalidArgument("Unsupported compression_type: ", name, ".");
}

absl::StatusOr<std::unique_ptr<ByteStream>> ByteStream::Open(FileSystem* files, const std::string& path,
                                                             Compression compression, int64_t buffer_size) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files->NewReadableFile(path));
  const size_t size = std::min(buffer_size > 0 ? buffer_size : kDefaultBuffer, kMaxBuffer);
  auto plain = std::make_unique<FileStream>(std::move(file), size);
  if (compression == Compression::kNone) {
    plain->set_max_piece(std::numeric_limits<size_t>::max());
    return plain;
  }
  if (compression == Compression::kSnappy) return std::make_unique<UnsnappingStream>(std::move(plain));
  return std::make_unique<InflatingStream>(std::move(plain), compression, std::max<size_t>(size, 1024));
}

absl::StatusOr<bool> ByteStream::Fill() {
  if (buffered_.empty()) {
    ASSIGN_OR_RETURN(buffered_, Refill());
  }
  return !buffered_.empty();
}

absl::Status ByteStream::Take(size_t count, std::string* to) {
  if (to->size() + count > max_piece_) {
    return errors::ResourceExhausted("A record or line before byte ", position_, " is longer than ", max_piece_,
                                     " bytes: write shorter ones");
  }
  to->append(buffered_.data(), count);
  buffered_.remove_prefix(count);
  position_ += count;
  return absl::OkStatus();
}

absl::Status ByteStream::Read(uint64_t count, std::string* to) {
  while (count > 0) {
    ASSIGN_OR_RETURN(const bool more, Fill());
    if (!more) break;
    const size_t taken = std::min<uint64_t>(count, buffered_.size());
    RETURN_IF_ERROR(Take(taken, to));
    count -= taken;
  }
  return absl::OkStatus();
}

absl::Status ByteStream::Skip(uint64_t count) {
  while (count > 0) {
    ASSIGN_OR_RETURN(const bool more, Fill());
    if (!more) break;
    const uint64_t taken = std::min<uint64_t>(count, buffered_.size());
    buffered_.remove_prefix(taken);
    position_ += taken;
    count -= taken;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ByteStream::ReadLine(std::string* line) {
  line->clear();
  bool any = false;
  for (bool ended = false; !ended;) {
    ASSIGN_OR_RETURN(const bool more, Fill());
    if (!more) break;
    any = true;
    const size_t end = buffered_.find('\n');
    ended = end != absl::string_view::npos;
    RETURN_IF_ERROR(Take(std::min(end, buffered_.size()), line));
    if (!ended) continue;
    buffered_.remove_prefix(1);
    ++position_;
  }
  line->erase(std::remove(line->begin(), line->end(), '\r'), line->end());
  return any;
}

absl::StatusOr<bool> ReadTfRecord(ByteStream& stream, std::string* record) {
  constexpr uint64_t kLength = 8;
  const uint64_t offset = stream.position();
  std::string header;
  ASSIGN_OR_RETURN(const bool more, ReadChecksummed(stream, offset, kLength, &header));
  if (!more) return false;
  const uint64_t length = coding::DecodeFixed64(header.data());
  ASSIGN_OR_RETURN(const bool complete, ReadChecksummed(stream, offset, length, record));
  if (!complete) return Truncated(offset);
  return true;
}

}  // namespace weir
