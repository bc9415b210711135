#include "core/files/remote/s3_error.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "core/files/remote/xml_reader.h"

namespace weir {
namespace {

struct Meaning {
  absl::StatusCode code;
  std::string advice;
};

// The document of an error; nameless if the reply has none.
XmlElement ErrorDocument(const WebReply& reply) {
  // Documents of success, such as listings, may be long.
  const absl::string_view body = absl::StripLeadingAsciiWhitespace(reply.body);
  if (reply.status < 300 && !absl::StrContains(body.substr(0, 1024), "<Error")) return {};
  absl::StatusOr<XmlElement> document = ParseXml(body);
  return document.ok() && document->name == "Error" ? *std::move(document) : XmlElement();
}

std::string ClockAdvice(const WebReply& reply) {
  const std::string date = reply.Header("date");
  return absl::StrCat("the clock of this machine is wrong by more than 15 minutes",
                      date.empty() ? "" : absl::StrCat("; the store's says ", date), ": set it");
}

std::string RegionAdvice(const S3Settings& settings, const XmlElement& error, const WebReply& reply) {
  std::string region = reply.Header("x-amz-bucket-region");
  if (region.empty()) region = error.Text("Region");
  if (region.empty()) {
    return absl::StrCat("the bucket is not in region ", settings.region, ": set AWS_REGION to the bucket's region");
  }
  return absl::StrCat("the bucket is in region ", region, ", not ", settings.region, ": set AWS_REGION=", region);
}

Meaning AccessDenied(const S3Settings& settings) {
  if (settings.credentials.is_anonymous()) {
    return {absl::StatusCode::kUnauthenticated,
            "there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to a profile of "
            "~/.aws/credentials"};
  }
  return {absl::StatusCode::kPermissionDenied,
          absl::StrCat("the access key ", settings.credentials.access_key,
                       " does not permit this; where it does not permit listing, an absent object looks the same")};
}

Meaning WrongCredentials(const std::string& code) {
  return {absl::StatusCode::kUnauthenticated,
          code == "ExpiredToken" ? "the session token has expired: renew AWS_SESSION_TOKEN or ~/.aws/credentials"
                                 : "the credentials are wrong: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
                                   "AWS_SESSION_TOKEN, or the profile of ~/.aws/credentials"};
}

Meaning MeaningOfStatus(const S3Settings& settings, const WebReply& reply) {
  if (reply.status == 404) return {absl::StatusCode::kNotFound, "No such file or directory"};
  if (reply.status == 403 || reply.status == 401) return AccessDenied(settings);
  if (reply.status == 412) return {absl::StatusCode::kFailedPrecondition, "the object has been replaced"};
  if (reply.status == 507 || reply.status == 413)
    return {absl::StatusCode::kResourceExhausted, "it exceeds a limit of the store"};
  if (IsPassingStatus(reply.status)) {
    return {absl::StatusCode::kUnavailable, "the store is busy or has failed, and did so in several tries"};
  }
  if (reply.status == 501 || reply.status == 405) return {absl::StatusCode::kUnimplemented, "the store cannot do this"};
  if (reply.status == 400) return {absl::StatusCode::kInvalidArgument, "the store does not accept the request"};
  return {absl::StatusCode::kUnknown, "an unexpected reply: is the endpoint that of an S3 store?"};
}

Meaning MeaningOf(const S3Subject& subject, const S3Settings& settings, const XmlElement& error,
                  const WebReply& reply) {
  const std::string code = error.Text("Code");
  if (code == "NoSuchBucket") {
    const std::string at = settings.endpoint.empty() ? "" : absl::StrCat(" at ", settings.endpoint);
    return {absl::StatusCode::kFailedPrecondition, absl::StrCat("there is no bucket ", subject.bucket, at,
                                                                ": create it, or correct its name or the endpoint")};
  }
  if (code == "NoSuchUpload") {
    return {absl::StatusCode::kFailedPrecondition,
            "the upload is gone: it was aborted by another program, or its bucket was deleted"};
  }
  if (code == "RequestTimeTooSkewed") return {absl::StatusCode::kUnauthenticated, ClockAdvice(reply)};
  if (code == "InvalidAccessKeyId" || code == "SignatureDoesNotMatch" || code == "InvalidToken" ||
      code == "ExpiredToken" || code == "TokenRefreshRequired" || code == "InvalidSecurity") {
    return WrongCredentials(code);
  }
  if (code == "EntityTooLarge" || code == "QuotaExceeded") {
    return {absl::StatusCode::kResourceExhausted, "it exceeds a limit of the store"};
  }
  if (reply.status == 301 || reply.status == 307 || code == "PermanentRedirect" || code == "TemporaryRedirect" ||
      code == "AuthorizationHeaderMalformed") {
    return {absl::StatusCode::kFailedPrecondition, RegionAdvice(settings, error, reply)};
  }
  if (IsPassingS3Code(code)) {
    return {absl::StatusCode::kUnavailable, "the store is busy or has failed, and did so in several tries"};
  }
  if (reply.status / 100 == 2 && code.empty()) {
    return {absl::StatusCode::kUnavailable,
            absl::StrCat("the reply is not the ", subject.result, " document of a success, in several tries")};
  }
  if (code == "AccessDenied") return AccessDenied(settings);
  return MeaningOfStatus(settings, reply);
}

}  // namespace

std::string S3ErrorCode(const WebReply& reply) { return ErrorDocument(reply).Text("Code"); }

bool IsPassingS3Code(const std::string& code) {
  return code == "InternalError" || code == "SlowDown" || code == "RequestTimeout" || code == "ServiceUnavailable";
}

absl::Status S3ErrorInWords(const S3Subject& subject, const S3Settings& settings, const WebReply& reply) {
  return S3ErrorInWords(subject, settings, reply, ErrorDocument(reply));
}

absl::Status S3ErrorInWords(const S3Subject& subject, const S3Settings& settings, const WebReply& reply,
                            const XmlElement& error) {
  constexpr size_t kMaxMessage = 400;
  const Meaning meaning = MeaningOf(subject, settings, error, reply);
  std::string text = absl::StrCat(subject.path, "; ", meaning.advice, " (", subject.method, " ", subject.url,
                                  ": HTTP status ", reply.status);
  if (const std::string code = error.Text("Code"); !code.empty()) absl::StrAppend(&text, ", ", absl::CEscape(code));
  if (const std::string message = error.Text("Message"); !message.empty()) {
    absl::StrAppend(&text, ", \"", absl::CEscape(message.substr(0, kMaxMessage)), "\"");
  }
  return absl::Status(meaning.code, text + ")");
}

}  // namespace weir
