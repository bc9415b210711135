#include "parquet/device_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "arrow/buffer.h"

namespace table_files {

namespace {

// Carries an error of Weir's through Arrow.
class FileError : public arrow::StatusDetail {
 public:
  explicit FileError(absl::Status status) : status(std::move(status)) {}
  const char* type_id() const override { return kId; }
  std::string ToString() const override { return std::string(status.message()); }

  static constexpr char kId[] = "weir/file_error";
  const absl::Status status;
};

}  // namespace

absl::Status FromArrow(const arrow::Status& status, absl::string_view context) {
  if (status.ok()) return absl::OkStatus();
  if (status.detail() != nullptr && std::strcmp(status.detail()->type_id(), FileError::kId) == 0) {
    return static_cast<const FileError&>(*status.detail()).status;
  }
  const std::string text = absl::StrCat(context, ": ", status.message());
  return status.IsOutOfMemory() ? absl::ResourceExhaustedError(text) : absl::DataLossError(text);
}

absl::StatusOr<std::shared_ptr<DeviceFile>> DeviceFile::Open(const weir::FileSystemRegistry& files,
                                                             const std::string& path) {
  ASSIGN_OR_RETURN(weir::FileSystem * system, files.Find(path));
  ASSIGN_OR_RETURN(std::unique_ptr<weir::ReadableFile> file, system->NewReadableFile(path));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  return std::shared_ptr<DeviceFile>(new DeviceFile(std::move(file), static_cast<int64_t>(size)));
}

arrow::Result<int64_t> DeviceFile::ReadAt(int64_t position, int64_t bytes, void* out) {
  if (position < 0 || bytes < 0) return arrow::Status::Invalid("a negative position or size");
  const absl::StatusOr<size_t> read = file_->Read(position, bytes, static_cast<char*>(out));
  if (!read.ok()) {
    return arrow::Status(arrow::StatusCode::IOError, std::string(read.status().message()),
                         std::make_shared<FileError>(read.status()));
  }
  return static_cast<int64_t>(*read);
}

arrow::Result<std::shared_ptr<arrow::Buffer>> DeviceFile::ReadAt(int64_t position, int64_t bytes) {
  // Sizes come from the file: no more is allocated than it has.
  bytes = std::max<int64_t>(0, std::min(bytes, size_ - std::max<int64_t>(0, position)));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ResizableBuffer> buffer, arrow::AllocateResizableBuffer(bytes));
  ARROW_ASSIGN_OR_RAISE(const int64_t read, ReadAt(position, bytes, buffer->mutable_data()));
  ARROW_RETURN_NOT_OK(buffer->Resize(read));
  return buffer;
}

arrow::Result<int64_t> DeviceFile::Read(int64_t bytes, void* out) {
  ARROW_ASSIGN_OR_RAISE(const int64_t read, ReadAt(position_, bytes, out));
  position_ += read;
  return read;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> DeviceFile::Read(int64_t bytes) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, ReadAt(position_, bytes));
  position_ += buffer->size();
  return buffer;
}

arrow::Status DeviceFile::Seek(int64_t position) {
  if (position < 0 || position > size_) return arrow::Status::Invalid("a position outside of the file");
  position_ = position;
  return arrow::Status::OK();
}

arrow::Status DeviceFile::Close() {
  closed_ = true;
  return arrow::Status::OK();
}

}  // namespace table_files
