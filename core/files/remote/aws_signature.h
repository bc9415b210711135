// AWS Signature Version 4 of HTTP requests.
#pragma once

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/files/remote/s3_settings.h"

namespace weir {

struct SignedRequest {
  std::string method;
  std::string path;                            // as in the URL, percent-encoded
  std::map<std::string, std::string> query;    // not encoded
  std::map<std::string, std::string> headers;  // names in lower case; "host" among them
  std::string payload_hash;                    // SHA-256 of the body in hexadecimal digits
};

struct SignatureScope {
  std::string region;
  std::string service;  // "s3"
  absl::Time time;
};

// The value of the header "authorization". All headers are signed; "x-amz-date" is SignatureTimestamp(scope.time).
std::string AuthorizationHeader(const SignedRequest& request, const SignatureScope& scope,
                                const S3Credentials& credentials);
// "20150830T123600Z"
std::string SignatureTimestamp(absl::Time time);
// "a=b&c=d", sorted and percent-encoded.
std::string QueryString(const std::map<std::string, std::string>& query);

std::string Sha256Hex(absl::string_view data);
// The 16 bytes of the MD5 digest.
std::string Md5(absl::string_view data);

}  // namespace weir
