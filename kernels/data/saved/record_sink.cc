#include "kernels/data/saved/record_sink.h"

#include <snappy.h>
#include <zlib.h>

#include <algorithm>

namespace weir {
namespace {

class PlainSink : public RecordSink {
 public:
  explicit PlainSink(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
  absl::Status Append(absl::string_view bytes) override { return file_->Append(bytes); }
  absl::Status Close() override { return file_->Close(); }

 private:
  const std::unique_ptr<WritableFile> file_;
};

class DeflatingSink : public RecordSink {
 public:
  DeflatingSink(std::unique_ptr<WritableFile> file, Compression compression) : file_(std::move(file)) {
    constexpr int kGzipHeader = 16, kMemory = 8;
    is_open_ = deflateInit2(&zlib_, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                            MAX_WBITS + (compression == Compression::kGzip ? kGzipHeader : 0), kMemory,
                            Z_DEFAULT_STRATEGY) == Z_OK;
  }
  DeflatingSink(const DeflatingSink&) = delete;
  DeflatingSink& operator=(const DeflatingSink&) = delete;
  ~DeflatingSink() override {
    if (is_open_) deflateEnd(&zlib_);
  }

  absl::Status Append(absl::string_view bytes) override { return Deflate(bytes, Z_NO_FLUSH); }
  absl::Status Close() override {
    RETURN_IF_ERROR(Deflate("", Z_FINISH));
    return file_->Close();
  }

 private:
  absl::Status Deflate(absl::string_view bytes, int flush) {
    if (!is_open_) return errors::Internal("zlib cannot be initialised");
    constexpr size_t kMost = 1 << 30;  // zlib counts with 32 bits
    char out[1 << 14];
    do {
      const absl::string_view part = bytes.substr(0, kMost);
      bytes.remove_prefix(part.size());
      zlib_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
      zlib_.avail_in = static_cast<uInt>(part.size());
      do {
        zlib_.next_out = reinterpret_cast<Bytef*>(out);
        zlib_.avail_out = sizeof(out);
        if (deflate(&zlib_, flush) == Z_STREAM_ERROR) return errors::Internal("deflate() failed");
        RETURN_IF_ERROR(file_->Append(absl::string_view(out, sizeof(out) - zlib_.avail_out)));
      } while (zlib_.avail_out == 0);
    } while (!bytes.empty());
    return absl::OkStatus();
  }

  const std::unique_ptr<WritableFile> file_;
  bool is_open_ = false;
  z_stream zlib_ = {};
};

// Blocks, each behind its compressed length in four bytes, the highest first.
class SnappySink : public RecordSink {
 public:
  explicit SnappySink(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}

  absl::Status Append(absl::string_view bytes) override {
    while (!bytes.empty()) {
      const absl::string_view part = bytes.substr(0, kSnappyBlock - pending_.size());
      pending_.append(part.data(), part.size());
      bytes.remove_prefix(part.size());
      if (pending_.size() == kSnappyBlock) RETURN_IF_ERROR(WriteBlock());
    }
    return absl::OkStatus();
  }
  absl::Status Close() override {
    if (!pending_.empty()) RETURN_IF_ERROR(WriteBlock());
    return file_->Close();
  }

 private:
  absl::Status WriteBlock() {
    std::string block;
    snappy::Compress(pending_.data(), pending_.size(), &block);
    pending_.clear();
    std::string length;
    for (int shift = 24; shift >= 0; shift -= 8) length.push_back(static_cast<char>(block.size() >> shift));
    RETURN_IF_ERROR(file_->Append(length));
    return file_->Append(block);
  }

  const std::unique_ptr<WritableFile> file_;
  std::string pending_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RecordSink>> RecordSink::Open(FileSystem* files, const std::string& path,
                                                             Compression compression) {
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, files->NewWritableFile(path));
  switch (compression) {
    case Compression::kNone:
      return std::make_unique<PlainSink>(std::move(file));
    case Compression::kSnappy:
      return std::make_unique<SnappySink>(std::move(file));
    default:
      return std::make_unique<DeflatingSink>(std::move(file), compression);
  }
}

}  // namespace weir
