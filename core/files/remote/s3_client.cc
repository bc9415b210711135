#include "core/files/remote/s3_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/files/remote/aws_signature.h"
#include "core/files/remote/s3_error.h"
#include "core/files/remote/url_text.h"
#include "core/files/remote/xml_reader.h"

namespace weir {
namespace {

// Where a call goes.
struct Address {
  std::string scheme, host, path;
};

bool IsDnsName(absl::string_view bucket) {
  return std::all_of(bucket.begin(), bucket.end(),
                     [](char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-'; });
}

Address AddressOf(const S3Settings& settings, const S3Path& target) {
  const std::string key = PercentEncoded(target.key, true);
  if (!settings.endpoint.empty()) {
    const size_t host = settings.endpoint.find("://") + 3, slash = settings.endpoint.find('/', host);
    const std::string base = slash == std::string::npos ? "" : settings.endpoint.substr(slash);
    return {settings.endpoint.substr(0, host), settings.endpoint.substr(host, slash - host),
            absl::StrCat(base, "/", target.bucket, "/", key)};
  }
  const std::string host =
      absl::StrCat("s3.", settings.region, ".amazonaws.com", absl::StartsWith(settings.region, "cn-") ? ".cn" : "");
  // Certificates of AWS are for one label before the host.
  if (!IsDnsName(target.bucket)) return {"https://", host, absl::StrCat("/", target.bucket, "/", key)};
  return {"https://", absl::StrCat(target.bucket, ".", host), absl::StrCat("/", key)};
}

std::string UrlOf(const Address& address) { return absl::StrCat(address.scheme, address.host, address.path); }

WebRequest SignedWebRequest(const S3Settings& settings, const S3Call& call) {
  const Address address = AddressOf(settings, call.target);
  SignedRequest signing = {.method = call.method, .path = address.path, .query = call.query, .headers = call.headers};
  signing.headers["host"] = address.host;
  if (!settings.credentials.is_anonymous()) {
    const SignatureScope scope = {.region = settings.region, .service = "s3", .time = absl::Now()};
    signing.payload_hash = Sha256Hex(call.body);
    signing.headers["x-amz-date"] = SignatureTimestamp(scope.time);
    signing.headers["x-amz-content-sha256"] = signing.payload_hash;
    if (!settings.credentials.session_token.empty()) {
      signing.headers["x-amz-security-token"] = settings.credentials.session_token;
    }
    signing.headers["authorization"] = AuthorizationHeader(signing, scope, settings.credentials);
  }
  WebRequest request = {.method = call.method,
                        .url = UrlOf(address),
                        .body = call.body,
                        .max_reply = call.max_reply,
                        .works_in_silence = call.works_in_silence};
  if (!call.query.empty()) absl::StrAppend(&request.url, "?", QueryString(call.query));
  for (const auto& [name, value] : signing.headers) request.headers.push_back(absl::StrCat(name, ": ", value));
  return request;
}

S3Subject SubjectOf(const S3Settings& settings, const S3Call& call) {
  return {.path = call.target.ToString(),
          .method = call.method,
          .url = UrlOf(AddressOf(settings, call.target)),
          .bucket = call.target.bucket,
          .result = call.result};
}

// The code of the error in the reply. The content of an object is no document of the store, whatever it contains.
std::string CodeIn(const S3Call& call, const WebReply& reply) {
  const bool is_content = call.method == "GET" && call.result.empty() && reply.status / 100 == 2;
  return is_content ? "" : S3ErrorCode(reply);
}

bool IsSuccess(const S3Call& call, const WebReply& reply) {
  if (reply.status / 100 != 2) return false;
  if (call.result.empty()) return CodeIn(call, reply).empty();
  const absl::StatusOr<XmlElement> document = ParseXml(reply.body);
  return document.ok() && document->name == call.result;
}

bool IsPassing(const S3Call& call, const WebReply& reply) {
  if (IsPassingStatus(reply.status)) return true;
  const std::string code = CodeIn(call, reply);
  if (code.empty()) return reply.status / 100 == 2 && !IsSuccess(call, reply);
  return IsPassingS3Code(code);
}

absl::Status CheckPrefix(const S3Path& bucket, const std::string& prefix, const std::string& key) {
  if (absl::StartsWith(key, prefix)) return absl::OkStatus();
  return errors::DataLoss("The listing of ", bucket.ToString(), ": the store sends the key \"", absl::CEscape(key),
                          "\", which does not begin with \"", absl::CEscape(prefix), "\"");
}

}  // namespace

struct S3Client::Connection {
  Connection(S3Settings loaded, WebOptions options) : settings(std::move(loaded)), web(std::move(options)) {}

  const S3Settings settings;
  WebClient web;
};

absl::StatusOr<S3Path> S3Path::Parse(const std::string& path) {
  RETURN_IF_ERROR(CheckRemotePath(path));
  absl::string_view rest = path;
  absl::ConsumePrefix(&rest, "s3://");
  const size_t slash = std::min(rest.find('/'), rest.size());
  S3Path parsed = {std::string(rest.substr(0, slash)), std::string(absl::StripPrefix(rest.substr(slash), "/"))};
  while (absl::EndsWith(parsed.key, "/")) parsed.key.pop_back();
  const bool is_name = !parsed.bucket.empty() && parsed.bucket.size() < 256 && parsed.bucket[0] != '.' &&
                       std::all_of(parsed.bucket.begin(), parsed.bucket.end(),
                                   [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_'; });
  if (is_name) return parsed;
  return errors::InvalidArgument(path,
                                 "; not of the form s3://BUCKET/KEY: a bucket's name has letters, digits, '-' and '.'");
}

absl::StatusOr<std::shared_ptr<S3Client::Connection>> S3Client::Connect() const {
  MutexLock lock(mu_);
  if (connection_ != nullptr) return connection_;
  ASSIGN_OR_RETURN(S3Settings settings, options_.settings());
  WebOptions web = options_.web;
  web.verify_tls = settings.verify_tls;
  web.ca_file = settings.ca_file;
  connection_ = std::make_shared<Connection>(std::move(settings), std::move(web));
  return connection_;
}

void S3Client::Forget(const std::shared_ptr<Connection>& connection) const {
  MutexLock lock(mu_);
  if (connection_ == connection) connection_ = nullptr;
}

absl::StatusOr<WebReply> S3Client::Send(const S3Call& call) const {
  for (bool is_new = false;; is_new = true) {
    auto connection = Connect();
    if (!connection.ok()) return Annotate(connection.status(), call.target.ToString());
    auto reply = (*connection)
                     ->web.Send([&] { return SignedWebRequest((*connection)->settings, call); },
                                [&](const WebReply& reply) { return IsPassing(call, reply); });
    if (!reply.ok()) return Annotate(reply.status(), call.target.ToString());
    if (is_new || CodeIn(call, *reply) != "ExpiredToken") return reply;
    Forget(*connection);  // the file of credentials may have newer ones
  }
}

absl::Status S3Client::ErrorOf(const S3Call& call, const WebReply& reply) const {
  if (IsSuccess(call, reply)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::shared_ptr<Connection> connection, Connect());
  return S3ErrorInWords(SubjectOf(connection->settings, call), connection->settings, reply);
}

absl::Status S3Client::ErrorOf(const S3Call& call, const WebReply& reply, const XmlElement& error) const {
  ASSIGN_OR_RETURN(const std::shared_ptr<Connection> connection, Connect());
  return S3ErrorInWords(SubjectOf(connection->settings, call), connection->settings, reply, error);
}

absl::StatusOr<WebReply> S3Client::SendChecked(const S3Call& call) const {
  ASSIGN_OR_RETURN(WebReply reply, Send(call));
  RETURN_IF_ERROR(ErrorOf(call, reply));
  return reply;
}

absl::StatusOr<S3Page> S3Client::List(const S3Path& bucket, const std::string& prefix, const std::string& delimiter,
                                      const std::string& token, int most) const {
  S3Call call = {.target = {bucket.bucket, ""}, .result = "ListBucketResult"};
  call.query = {{"list-type", "2"}, {"prefix", prefix}, {"encoding-type", "url"}, {"max-keys", absl::StrCat(most)}};
  if (!delimiter.empty()) call.query["delimiter"] = delimiter;
  if (!token.empty()) call.query["continuation-token"] = token;
  ASSIGN_OR_RETURN(const WebReply reply, SendChecked(call));
  const absl::StatusOr<XmlElement> listing = ParseXml(reply.body);
  if (!listing.ok()) return Annotate(listing.status(), absl::StrCat("The listing of ", bucket.ToString()));
  const bool is_encoded = listing->Text("EncodingType") == "url";
  const auto decoded = [&](const std::string& text) {
    return is_encoded ? PercentDecoded(text, /*plus_is_space=*/true) : text;
  };
  S3Page page;
  for (const XmlElement& entry : listing->children) {
    if (entry.name == "Contents") {
      S3Object object = {.key = decoded(entry.Text("Key"))};
      if (!absl::SimpleAtoi(entry.Text("Size"), &object.size)) {
        return errors::DataLoss("The listing of ", bucket.ToString(), ": no size of ", object.key);
      }
      page.objects.push_back(std::move(object));
    } else if (entry.name == "CommonPrefixes") {
      page.prefixes.push_back(decoded(entry.Text("Prefix")));
    }
  }
  for (const S3Object& object : page.objects) RETURN_IF_ERROR(CheckPrefix(bucket, prefix, object.key));
  for (const std::string& below : page.prefixes) RETURN_IF_ERROR(CheckPrefix(bucket, prefix, below));
  if (listing->Text("IsTruncated") == "true") page.next_token = listing->Text("NextContinuationToken");
  return page;
}

}  // namespace weir
