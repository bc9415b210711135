#include "core/files/remote/s3_upload.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/strip.h"
#include "core/files/remote/aws_signature.h"
#include "core/files/remote/s3_error.h"
#include "core/files/remote/url_text.h"
#include "core/files/remote/xml_reader.h"

namespace weir {
namespace {

std::string Unquoted(absl::string_view etag) {
  absl::ConsumePrefix(&etag, "\"");
  absl::ConsumeSuffix(&etag, "\"");
  return std::string(etag);
}

// The tag that S3 gives to an object of these parts; empty if they are not MD5 digests.
std::string TagOfParts(const std::vector<std::string>& etags) {
  std::string digests;
  for (const std::string& etag : etags) {
    const std::string digest = Unquoted(etag);
    if (digest.size() != 32 || !std::all_of(digest.begin(), digest.end(), absl::ascii_isxdigit)) return "";
    digests += absl::HexStringToBytes(digest);
  }
  return absl::StrCat(absl::BytesToHexString(Md5(digests)), "-", etags.size());
}

}  // namespace

std::string CopySource(const S3Path& source) {
  return absl::StrCat("/", source.bucket, "/", PercentEncoded(source.key, true));
}

absl::StatusOr<std::unique_ptr<S3Upload>> S3Upload::Start(const S3Client* client, const S3Path& target) {
  ASSIGN_OR_RETURN(
      const WebReply reply,
      client->SendChecked(
          {.method = "POST", .target = target, .query = {{"uploads", ""}}, .result = "InitiateMultipartUploadResult"}));
  const absl::StatusOr<XmlElement> document = ParseXml(reply.body);
  std::string id = document.ok() ? document->Text("UploadId") : "";
  if (id.empty()) return errors::DataLoss(target.ToString(), "; the store gives the upload no UploadId");
  return std::unique_ptr<S3Upload>(new S3Upload(client, target, std::move(id)));
}

S3Upload::~S3Upload() {
  if (completed_) return;
  client_->Send({.method = "DELETE", .target = target_, .query = {{"uploadId", id_}}}).status().IgnoreError();
}

S3Call S3Upload::PartCall() const {
  return {.method = "PUT",
          .target = target_,
          .query = {{"partNumber", absl::StrCat(etags_.size() + 1)}, {"uploadId", id_}}};
}

absl::Status S3Upload::AddPart(absl::string_view data) {
  S3Call call = PartCall();
  call.body = data;
  ASSIGN_OR_RETURN(const WebReply reply, client_->SendChecked(call));
  if (reply.Header("etag").empty()) return errors::DataLoss(target_.ToString(), "; the store gives a part no ETag");
  etags_.push_back(reply.Header("etag"));
  return absl::OkStatus();
}

absl::Status S3Upload::AddCopy(const S3Path& source, const std::string& etag, uint64_t offset, uint64_t size) {
  S3Call call = PartCall();
  call.headers = {{"x-amz-copy-source", CopySource(source)},
                  {"x-amz-copy-source-range", absl::StrCat("bytes=", offset, "-", offset + size - 1)}};
  if (!etag.empty()) call.headers["x-amz-copy-source-if-match"] = etag;
  call.result = "CopyPartResult";
  call.works_in_silence = true;
  ASSIGN_OR_RETURN(const WebReply reply, client_->SendChecked(call));
  const absl::StatusOr<XmlElement> document = ParseXml(reply.body);
  std::string tag = document.ok() ? document->Text("ETag") : "";
  if (tag.empty()) return errors::DataLoss(target_.ToString(), "; the store gives a copied part no ETag");
  etags_.push_back(std::move(tag));
  return absl::OkStatus();
}

bool S3Upload::IsComplete() const {
  const std::string expected = TagOfParts(etags_);
  const auto reply = client_->Send({.method = "HEAD", .target = target_});
  return !expected.empty() && reply.ok() && reply->status == 200 && Unquoted(reply->Header("etag")) == expected;
}

absl::Status S3Upload::Complete() {
  std::string document = "<CompleteMultipartUpload>";
  for (size_t i = 0; i < etags_.size(); ++i) {
    absl::StrAppend(&document, "<Part><PartNumber>", i + 1, "</PartNumber><ETag>", XmlEscaped(etags_[i]),
                    "</ETag></Part>");
  }
  document += "</CompleteMultipartUpload>";
  const S3Call call = {.method = "POST",
                       .target = target_,
                       .query = {{"uploadId", id_}},
                       .body = document,
                       .result = "CompleteMultipartUploadResult",
                       .works_in_silence = true};
  ASSIGN_OR_RETURN(const WebReply reply, client_->Send(call));
  // The reply to an earlier try may have been lost.
  completed_ = client_->ErrorOf(call, reply).ok() || (S3ErrorCode(reply) == "NoSuchUpload" && IsComplete());
  return completed_ ? absl::OkStatus() : client_->ErrorOf(call, reply);
}

}  // namespace weir
