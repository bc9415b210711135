// Weir's files for Arrow: whatever scheme the device knows, "s3://" and "https://" too.
#pragma once

#include <memory>
#include <string>

#include "arrow/io/interfaces.h"
#include "arrow/result.h"
#include "arrow/status.h"
#include "weir/core/files/file_system.h"

namespace table_files {

// An error of the file itself keeps its code; others are DataLoss, with the context.
absl::Status FromArrow(const arrow::Status& status, absl::string_view context);

// Thread-safe for reads at a position.
class DeviceFile : public arrow::io::RandomAccessFile {
 public:
  static absl::StatusOr<std::shared_ptr<DeviceFile>> Open(const weir::FileSystemRegistry& files,
                                                          const std::string& path);

  const std::string& path() const { return file_->path(); }

  arrow::Result<int64_t> GetSize() override { return size_; }
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t bytes, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t bytes) override;
  arrow::Result<int64_t> Read(int64_t bytes, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t bytes) override;
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Seek(int64_t position) override;
  arrow::Status Close() override;
  bool closed() const override { return closed_; }

 private:
  DeviceFile(std::unique_ptr<weir::ReadableFile> file, int64_t size) : file_(std::move(file)), size_(size) {}

  const std::unique_ptr<weir::ReadableFile> file_;
  const int64_t size_;
  int64_t position_ = 0;
  bool closed_ = false;
};

}  // namespace table_files
