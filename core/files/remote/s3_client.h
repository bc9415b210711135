// Requests to an object store that speaks S3.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/files/remote/remote_file_systems.h"
#include "core/files/remote/web_client.h"
#include "core/files/remote/xml_reader.h"
#include "core/mutex.h"

namespace weir {

// "s3://bucket/key"; the key has no slashes at its end, and is empty for the bucket itself.
struct S3Path {
  std::string bucket, key;

  static absl::StatusOr<S3Path> Parse(const std::string& path);
  std::string ToString() const { return absl::StrCat("s3://", bucket, "/", key); }
  // The beginning of the keys of a directory's files.
  std::string DirectoryPrefix() const { return key.empty() ? "" : key + "/"; }
};

struct S3Call {
  std::string method = "GET";
  S3Path target;
  std::map<std::string, std::string> query = {};
  std::map<std::string, std::string> headers = {};  // names in lower case
  absl::string_view body = "";                      // outlives the call
  uint64_t max_reply = 8 << 20;
  // The root of the document that says success, such as CopyObjectResult. The store sends the status 200 of some calls
  // before it does the work, so a reply without that document is no success and is tried again. Empty: there is none.
  std::string result = "";
  bool works_in_silence = false;  // of WebRequest
};

struct S3Object {
  std::string key;
  uint64_t size = 0;
};

// One reply to a listing.
struct S3Page {
  std::vector<S3Object> objects;
  std::vector<std::string> prefixes;  // with a delimiter: the keys' beginnings up to it
  std::string next_token;             // empty: there are no more pages
};

// Thread-safe. Blocks; each call ends by the deadline of WebOptions. Errors name the path, the URL, the HTTP status,
// S3's code, and what to do about it.
class S3Client {
 public:
  explicit S3Client(S3FileOptions options) : options_(std::move(options)) {}

  const S3FileOptions& options() const { return options_; }

  // A reply of any status; passing errors are tried again, and expired credentials loaded again.
  absl::StatusOr<WebReply> Send(const S3Call& call) const;
  // As Send, but a reply other than a success is an error.
  absl::StatusOr<WebReply> SendChecked(const S3Call& call) const;
  // The error that a reply of Send stands for; OK for success.
  absl::Status ErrorOf(const S3Call& call, const WebReply& reply) const;
  // The error that an element of a reply stands for, of one of several objects.
  absl::Status ErrorOf(const S3Call& call, const WebReply& reply, const XmlElement& error) const;
  // At most `most` entries; "/" as the delimiter lists one level. DataLoss if the store sends a key that does not begin
  // with `prefix`: it must not be deleted.
  absl::StatusOr<S3Page> List(const S3Path& bucket, const std::string& prefix, const std::string& delimiter,
                              const std::string& token, int most = 1000) const;

 private:
  struct Connection;

  absl::StatusOr<std::shared_ptr<Connection>> Connect() const;
  void Forget(const std::shared_ptr<Connection>& connection) const;

  const S3FileOptions options_;
  mutable Mutex mu_;
  mutable std::shared_ptr<Connection> connection_ GUARDED_BY(mu_);
};

}  // namespace weir
