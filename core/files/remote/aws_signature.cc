#include "core/files/remote/aws_signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/files/remote/url_text.h"

namespace weir {
namespace {

std::string Digest(const EVP_MD* kind, absl::string_view data) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(data.data(), data.size(), digest, &size, kind, nullptr);
  return std::string(reinterpret_cast<const char*>(digest), size);
}

std::string HmacSha256(const std::string& key, absl::string_view data) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(data.data()),
       data.size(), digest, &size);
  return std::string(reinterpret_cast<const char*>(digest), size);
}

std::string NamesOf(const std::map<std::string, std::string>& headers) {
  return absl::StrJoin(headers, ";", [](std::string* out, const auto& header) { *out += header.first; });
}

std::string CanonicalRequest(const SignedRequest& request) {
  std::string headers;
  for (const auto& [name, value] : request.headers) absl::StrAppend(&headers, name, ":", value, "\n");
  return absl::StrCat(request.method, "\n", request.path, "\n", QueryString(request.query), "\n", headers, "\n",
                      NamesOf(request.headers), "\n", request.payload_hash);
}

}  // namespace

std::string Sha256Hex(absl::string_view data) { return absl::BytesToHexString(Digest(EVP_sha256(), data)); }
std::string Md5(absl::string_view data) { return Digest(EVP_md5(), data); }

std::string SignatureTimestamp(absl::Time time) {
  return absl::FormatTime("%Y%m%dT%H%M%SZ", time, absl::UTCTimeZone());
}

std::string QueryString(const std::map<std::string, std::string>& query) {
  return absl::StrJoin(query, "&", [](std::string* out, const auto& part) {
    absl::StrAppend(out, PercentEncoded(part.first, false), "=", PercentEncoded(part.second, false));
  });
}

std::string AuthorizationHeader(const SignedRequest& request, const SignatureScope& scope,
                                const S3Credentials& credentials) {
  const std::string timestamp = SignatureTimestamp(scope.time), day = timestamp.substr(0, 8);
  const std::string within = absl::StrCat(day, "/", scope.region, "/", scope.service, "/aws4_request");
  const std::string text =
      absl::StrCat("AWS4-HMAC-SHA256\n", timestamp, "\n", within, "\n", Sha256Hex(CanonicalRequest(request)));
  std::string key = HmacSha256("AWS4" + credentials.secret_key, day);
  for (const std::string& part : {scope.region, scope.service, std::string("aws4_request")})
    key = HmacSha256(key, part);
  return absl::StrCat("AWS4-HMAC-SHA256 Credential=", credentials.access_key, "/", within,
                      ", SignedHeaders=", NamesOf(request.headers),
                      ", Signature=", absl::BytesToHexString(HmacSha256(key, text)));
}

}  // namespace weir
