// Writing an object of an object store.
#pragma once

#include <memory>
#include <string>

#include "core/files/file_system.h"
#include "core/files/remote/s3_upload.h"

namespace weir {

// Buffers one part and uploads it when it is full. The object appears, whole, in Close; without it, or after an error,
// the destructor discards everything. Flush and Sync change nothing.
class S3WritableFile : public WritableFile {
 public:
  S3WritableFile(std::shared_ptr<const S3Client> client, S3Path target)
      : client_(std::move(client)), target_(std::move(target)) {}
  ~S3WritableFile() override = default;

  // Makes the object's present content the beginning; call it first. NotFound is no error.
  absl::Status KeepContent();

  absl::Status Append(absl::string_view data) override;
  absl::Status Flush() override { return status_; }
  absl::Status Sync() override { return status_; }
  absl::Status Close() override;

 private:
  // Larger for the later parts, of which there may be only S3Upload::kMaxParts.
  uint64_t PartBytes() const;
  absl::Status StartUpload();
  absl::Status UploadPart();
  absl::Status Publish();

  const std::shared_ptr<const S3Client> client_;
  const S3Path target_;
  std::string buffer_;
  std::unique_ptr<S3Upload> upload_;
  absl::Status status_;  // the first error
  bool closed_ = false;
};

}  // namespace weir
