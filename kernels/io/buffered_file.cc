#include "kernels/io/buffered_file.h"

#include <algorithm>
#include <cstring>

namespace weir {

absl::Status BufferedFile::Fill() {
  buffer_start_ += buffer_.size();
  next_ = 0;
  buffer_.resize(kBufferSize);
  const absl::StatusOr<size_t> read = file_->Read(buffer_start_, kBufferSize, buffer_.data());
  buffer_.resize(read.ok() ? *read : 0);
  if (!read.ok()) return read.status();
  return buffer_.empty() ? errors::OutOfRange("End of file ", file_->path()) : absl::OkStatus();
}

absl::Status BufferedFile::ReadLine(std::string* line) {
  line->clear();
  bool any = false;
  for (;;) {
    if (next_ == buffer_.size()) {
      const absl::Status status = Fill();
      if (absl::IsOutOfRange(status) && any) break;
      RETURN_IF_ERROR(status);
    }
    any = true;
    const char* const from = buffer_.data() + next_;
    const void* const end = std::memchr(from, '\n', buffer_.size() - next_);
    const size_t size = end == nullptr ? buffer_.size() - next_ : static_cast<const char*>(end) - from;
    if (line->size() + size > kMaxPiece) {
      return errors::ResourceExhausted("A line of ", file_->path(), " is longer than ", kMaxPiece, " bytes");
    }
    line->append(from, size);
    next_ += size + (end != nullptr ? 1 : 0);
    if (end != nullptr) break;
  }
  line->erase(std::remove(line->begin(), line->end(), '\r'), line->end());
  return absl::OkStatus();
}

absl::Status BufferedFile::Read(size_t size, std::string* bytes) {
  bytes->clear();
  if (size > kMaxPiece) {
    return errors::ResourceExhausted("A record of ", size, " bytes in ", file_->path(), " is too long");
  }
  while (bytes->size() < size) {
    if (next_ == buffer_.size()) RETURN_IF_ERROR(Fill());
    const size_t part = std::min(size - bytes->size(), buffer_.size() - next_);
    bytes->append(buffer_, next_, part);
    next_ += part;
  }
  return absl::OkStatus();
}

absl::Status BufferedFile::Skip(uint64_t size) {
  while (size > buffer_.size() - next_) {
    size -= buffer_.size() - next_;
    RETURN_IF_ERROR(Fill());
  }
  next_ += size;
  return absl::OkStatus();
}

}  // namespace weir
