#include <curl/curl.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "core/files/file_system.h"
#include "core/files/remote/range_file.h"
#include "core/files/remote/remote_file_systems.h"
#include "core/files/remote/url_text.h"
#include "core/files/remote/web_client.h"

namespace weir {
namespace {

constexpr int kMaxRedirects = 5;

absl::Status HttpError(const std::string& path, const WebReply& reply) {
  const std::string text = absl::StrCat(RedactedUrl(path), "; HTTP status ", reply.status);
  if (reply.status >= 500 && reply.status != 501) return absl::UnavailableError(text + ": the server has failed");
  switch (reply.status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
      return errors::FailedPrecondition(text, ": a redirect without a target that can be followed");
    case 400:
      return absl::InvalidArgumentError(text + ": the server does not accept the request");
    case 401:
      return absl::UnauthenticatedError(text + ": the server asks for a user and password");
    case 403:
      return absl::PermissionDeniedError(text + ": the server does not permit access");
    case 404:
    case 410:
      return absl::NotFoundError(text + ": No such file or directory");
    case 405:
    case 501:
      return absl::UnimplementedError(text + ": the server does not support this request");
    case 408:
    case 429:
      return absl::UnavailableError(text + ": the server is busy");
    default:
      return absl::UnknownError(text);
  }
}

// Files of web servers, to be read only.
class HttpFileSystem : public FileSystem {
 public:
  explicit HttpFileSystem(WebOptions options) : client_(std::make_shared<WebClient>(std::move(options))) {}

  absl::StatusOr<std::unique_ptr<ReadableFile>> NewReadableFile(const std::string& path) override {
    RangeSource source;
    source.path = RedactedUrl(path);  // for messages
    source.get = [client = client_, path](const std::vector<std::string>& headers, uint64_t max_reply) {
      return Send(*client, "GET", path, headers, max_reply);
    };
    source.error = [path](const WebReply& reply) { return HttpError(path, reply); };
    return RangeFile::Open(std::move(source));
  }

  absl::StatusOr<FileStat> Stat(const std::string& path) override {
    ASSIGN_OR_RETURN(const WebReply reply, Send(*client_, "HEAD", path, {}, 0));
    const bool has_size = !reply.Header("content-length").empty();
    if (reply.status != 200 && reply.status != 405 && reply.status != 501) return HttpError(path, reply);
    FileStat stat;
    if (reply.status != 200 || !has_size || !absl::SimpleAtoi(reply.Header("content-length"), &stat.size)) {
      ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, NewReadableFile(path));
      ASSIGN_OR_RETURN(stat.size, file->Size());
    }
    const time_t modified = curl_getdate(reply.Header("last-modified").c_str(), nullptr);
    if (modified > 0) stat.mtime_nanos = int64_t{modified} * 1'000'000'000;
    return stat;
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(const std::string& path) override {
    return ReadOnly(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> NewAppendableFile(const std::string& path) override {
    return ReadOnly(path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override { return ReadOnly(from); }
  absl::Status DeleteFile(const std::string& path) override { return ReadOnly(path); }
  absl::Status DeleteRecursively(const std::string& path) override { return ReadOnly(path); }
  absl::Status CreateDir(const std::string& path) override { return ReadOnly(path); }
  absl::Status SyncDir(const std::string& dir) override { return ReadOnly(dir); }
  absl::StatusOr<std::vector<std::string>> List(const std::string& dir) override {
    return errors::Unimplemented(RedactedUrl(dir), "; a web server does not list its files: name each of them");
  }
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path, absl::Duration patience) override {
    return ReadOnly(path);
  }

 private:
  static absl::Status ReadOnly(const std::string& path) {
    return errors::Unimplemented(RedactedUrl(path), "; files of web servers can only be read");
  }

  static absl::StatusOr<WebReply> Send(WebClient& client, const std::string& method, const std::string& url,
                                       const std::vector<std::string>& headers, uint64_t max_reply) {
    const WebRequest request = {
        .method = method, .url = url, .headers = headers, .max_reply = max_reply, .max_redirects = kMaxRedirects};
    return client.Send([&] { return request; }, [](const WebReply& reply) { return IsPassingStatus(reply.status); });
  }

  // Files keep it too, which may outlive the file system.
  const std::shared_ptr<WebClient> client_;
};

}  // namespace

std::unique_ptr<FileSystem> NewHttpFileSystem(WebOptions options) {
  return std::make_unique<HttpFileSystem>(std::move(options));
}

std::unique_ptr<FileSystem> NewHttpFileSystem() {
  WebOptions options;
  options.ca_file = CaFile();
  return NewHttpFileSystem(std::move(options));
}

}  // namespace weir
