#include "core/files/remote/s3_writable_file.h"

#include <algorithm>

#include "absl/strings/numbers.h"

namespace weir {
namespace {

constexpr uint64_t kMinPart = 5 << 20;  // S3's, of all parts but the last
constexpr int kPartsOfOneSize = 2000;

}  // namespace

uint64_t S3WritableFile::PartBytes() const {
  const int parts = upload_ == nullptr ? 0 : upload_->parts();
  return client_->options().part_bytes << (parts / kPartsOfOneSize);
}

absl::Status S3WritableFile::StartUpload() {
  if (upload_ != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(upload_, S3Upload::Start(client_.get(), target_));
  return absl::OkStatus();
}

absl::Status S3WritableFile::UploadPart() {
  RETURN_IF_ERROR(StartUpload());
  if (upload_->parts() >= S3Upload::kMaxParts) {
    return errors::ResourceExhausted(target_.ToString(), "; an object has no more than ", S3Upload::kMaxParts,
                                     " parts");
  }
  RETURN_IF_ERROR(upload_->AddPart(buffer_));
  buffer_.clear();
  return absl::OkStatus();
}

absl::Status S3WritableFile::KeepContent() {
  ASSIGN_OR_RETURN(const WebReply found, client_->Send({.method = "HEAD", .target = target_}));
  if (found.status == 404) return absl::OkStatus();
  if (found.status != 200) {
    const S3Call call = {.method = "HEAD", .target = target_};
    const absl::Status error = client_->ErrorOf(call, found);
    if (!error.ok()) return error;
    return errors::DataLoss(target_.ToString(), "; the store answers HEAD by status ", found.status);
  }
  uint64_t size = 0;
  if (!absl::SimpleAtoi(found.Header("content-length"), &size)) {
    return errors::DataLoss(target_.ToString(), "; the store does not give the size of the object to append to");
  }
  if (size < kMinPart) {
    if (size == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(WebReply content, client_->SendChecked({.target = target_, .max_reply = kMinPart}));
    buffer_ = std::move(content.body);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(StartUpload());
  const uint64_t piece = client_->options().max_copy_bytes;
  for (uint64_t offset = 0; offset < size;) {
    // The last piece takes what would be too small for a part of its own.
    const uint64_t bytes = size - offset < piece + kMinPart ? size - offset : piece;
    RETURN_IF_ERROR(upload_->AddCopy(target_, found.Header("etag"), offset, bytes));
    offset += bytes;
  }
  return absl::OkStatus();
}

absl::Status S3WritableFile::Append(absl::string_view data) {
  if (closed_) return errors::FailedPrecondition(target_.ToString(), "; the file is closed");
  while (status_.ok() && !data.empty()) {
    const size_t room = PartBytes() - std::min<uint64_t>(PartBytes(), buffer_.size());
    const size_t taken = std::min(room, data.size());
    buffer_.append(data.data(), taken);
    data.remove_prefix(taken);
    if (buffer_.size() >= PartBytes()) status_ = UploadPart();
  }
  if (!status_.ok()) upload_.reset();
  return status_;
}

absl::Status S3WritableFile::Publish() {
  if (upload_ == nullptr) {
    return client_->SendChecked({.method = "PUT", .target = target_, .body = buffer_}).status();
  }
  if (!buffer_.empty()) RETURN_IF_ERROR(UploadPart());
  return upload_->Complete();
}

absl::Status S3WritableFile::Close() {
  if (closed_) return absl::OkStatus();
  if (status_.ok()) status_ = Publish();
  upload_.reset();
  closed_ = true;
  std::string().swap(buffer_);
  return status_;
}

}  // namespace weir
