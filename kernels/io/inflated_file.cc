#include <zlib.h>

#include "core/mutex.h"
#include "kernels/io/buffered_file.h"

namespace weir {
namespace {

class InflatedFile : public ReadableFile {
 public:
  InflatedFile(std::unique_ptr<ReadableFile> file, bool gzip) : file_(std::move(file)), gzip_(gzip) {}
  ~InflatedFile() override {
    if (started_) inflateEnd(&stream_);
  }

  const std::string& path() const override { return file_->path(); }
  absl::StatusOr<uint64_t> Size() const override {
    return errors::Unimplemented("The size of ", path(), " is not known before it is decompressed");
  }

  absl::StatusOr<size_t> Read(uint64_t offset, size_t size, char* buffer) const override {
    MutexLock lock(mu_);
    if (offset != produced_) {
      return errors::Unimplemented("Compressed file ", path(), " can only be read from front to back");
    }
    RETURN_IF_ERROR(Start());
    size_t done = 0;
    while (done < size && !ended_) {
      ASSIGN_OR_RETURN(const size_t part, InflateSome(buffer + done, size - done));
      done += part;
    }
    produced_ += done;
    return done;
  }

 private:
  static constexpr int kWindowBits = 15;    // the largest, which reads all
  static constexpr int kGzipWrapping = 16;  // added: gzip's header instead of zlib's
  static constexpr size_t kInputSize = 1 << 16;

  absl::Status Start() const REQUIRES(mu_) {
    if (started_) return absl::OkStatus();
    if (inflateInit2(&stream_, kWindowBits + (gzip_ ? kGzipWrapping : 0)) != Z_OK) {
      return errors::ResourceExhausted("No memory to decompress ", path());
    }
    started_ = true;
    return absl::OkStatus();
  }

  absl::StatusOr<size_t> InflateSome(char* to, size_t size) const REQUIRES(mu_) {
    if (stream_.avail_in == 0) {
      input_.resize(kInputSize);
      ASSIGN_OR_RETURN(const size_t read, file_->Read(consumed_, kInputSize, input_.data()));
      consumed_ += read;
      if (read == 0) {
        ended_ = true;
        if (mid_stream_) return errors::DataLoss("Compressed file ", path(), " ends in the middle");
        return size_t{0};
      }
      stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
      stream_.avail_in = static_cast<uInt>(read);
    }
    mid_stream_ = true;
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(std::min<size_t>(size, 1 << 30));
    const uInt wanted = stream_.avail_out;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      mid_stream_ = false;
      inflateReset(&stream_);  // another may follow
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return errors::DataLoss("inflate() failed on ", path(), ": ", stream_.msg == nullptr ? "" : stream_.msg);
    }
    return size_t{wanted - stream_.avail_out};
  }

  const std::unique_ptr<ReadableFile> file_;
  const bool gzip_;
  mutable Mutex mu_;
  mutable z_stream stream_ GUARDED_BY(mu_) = {};
  mutable std::string input_ GUARDED_BY(mu_);
  mutable uint64_t consumed_ GUARDED_BY(mu_) = 0, produced_ GUARDED_BY(mu_) = 0;
  mutable bool started_ = false, ended_ GUARDED_BY(mu_) = false, mid_stream_ GUARDED_BY(mu_) = false;
};

}  // namespace

std::unique_ptr<ReadableFile> NewInflatedFile(std::unique_ptr<ReadableFile> file, bool gzip) {
  return std::make_unique<InflatedFile>(std::move(file), gzip);
}

}  // namespace weir
