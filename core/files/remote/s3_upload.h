// An object that is uploaded or copied in parts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/files/remote/s3_client.h"

namespace weir {

// Nothing is visible before Complete. Not thread-safe; the client outlives it. The destructor aborts an upload that is
// not complete; if it fails, the parts stay with the store, which can be told to delete them after some days.
class S3Upload {
 public:
  // S3 accepts no more.
  static constexpr int kMaxParts = 10'000;

  static absl::StatusOr<std::unique_ptr<S3Upload>> Start(const S3Client* client, const S3Path& target);
  ~S3Upload();
  S3Upload(const S3Upload&) = delete;

  absl::Status AddPart(absl::string_view data);
  // Bytes of another object of the store, of the version `etag`.
  absl::Status AddCopy(const S3Path& source, const std::string& etag, uint64_t offset, uint64_t size);
  absl::Status Complete();
  int parts() const { return static_cast<int>(etags_.size()); }

 private:
  S3Upload(const S3Client* client, S3Path target, std::string id)
      : client_(client), target_(std::move(target)), id_(std::move(id)) {}

  S3Call PartCall() const;
  // Whether the object is what Complete makes, although its reply was lost.
  bool IsComplete() const;

  const S3Client* const client_;
  const S3Path target_;
  const std::string id_;
  std::vector<std::string> etags_;
  bool completed_ = false;
};

// The header "x-amz-copy-source".
std::string CopySource(const S3Path& source);

}  // namespace weir
