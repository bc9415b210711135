#include <curl/curl.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/files/file_system.h"
#include "core/files/remote/aws_signature.h"
#include "core/files/remote/range_file.h"
#include "core/files/remote/remote_file_systems.h"
#include "core/files/remote/s3_client.h"
#include "core/files/remote/s3_error.h"
#include "core/files/remote/s3_writable_file.h"
#include "core/files/remote/xml_reader.h"

namespace weir {
namespace {

constexpr size_t kMaxNames = 10'000'000;
constexpr size_t kMaxListedBytes = size_t{1} << 30;
constexpr int kMaxPages = 100'000;

absl::Status NoSuchObject(const std::string& path) { return errors::NotFound(path, "; No such file or directory"); }
absl::Status IsADirectory(const std::string& path) { return errors::FailedPrecondition(path, "; Is a directory"); }
absl::Status IsNoDirectory(const std::string& path) { return errors::FailedPrecondition(path, "; Not a directory"); }

struct ObjectStat {
  FileStat stat;
  std::string etag;
};

// Objects as files, the beginnings of their keys up to a slash as directories. CreateDir makes an empty object whose
// key ends with a slash, so that a directory may be empty.
class S3FileSystem : public FileSystem {
 public:
  explicit S3FileSystem(S3FileOptions options) : client_(std::make_shared<S3Client>(std::move(options))) {}

  bool PublishesOnClose() const override { return true; }

  absl::StatusOr<std::unique_ptr<ReadableFile>> NewReadableFile(const std::string& path) override {
    ASSIGN_OR_RETURN(const S3Path target, S3Path::Parse(path));
    if (target.key.empty()) return IsADirectory(path);
    RangeSource source;
    source.path = path;
    source.get = [client = client_, target](const std::vector<std::string>& headers, uint64_t max_reply) {
      return client->Send(CallWith(target, headers, max_reply));
    };
    source.error = [client = client_, target](const WebReply& reply) {
      return client->ErrorOf({.target = target, .max_reply = 0}, reply);
    };
    auto file = RangeFile::Open(std::move(source));
    if (!absl::IsNotFound(file.status())) return file;
    ASSIGN_OR_RETURN(const bool is_directory, IsDirectory(target));
    return is_directory ? IsADirectory(path) : file.status();
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(const std::string& path) override {
    ASSIGN_OR_RETURN(S3Path target, ParseFile(path));
    return std::make_unique<S3WritableFile>(client_, std::move(target));
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> NewAppendableFile(const std::string& path) override {
    ASSIGN_OR_RETURN(S3Path target, ParseFile(path));
    auto file = std::make_unique<S3WritableFile>(client_, std::move(target));
    RETURN_IF_ERROR(file->KeepContent());
    return file;
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    ASSIGN_OR_RETURN(const S3Path source, ParseFile(from));
    ASSIGN_OR_RETURN(const S3Path target, ParseFile(to));
    ASSIGN_OR_RETURN(const ObjectStat found, StatObject(source));
    if (source.ToString() == target.ToString()) return absl::OkStatus();
    RETURN_IF_ERROR(Copy(source, found, target));
    return Annotate(client_->SendChecked({.method = "DELETE", .target = source}).status(),
                    absl::StrCat("Deleting the copied object after ", to, " was written"));
  }

  absl::Status DeleteFile(const std::string& path) override {
    ASSIGN_OR_RETURN(const S3Path target, ParseFile(path));
    const absl::Status found = StatObject(target).status();
    if (absl::IsNotFound(found)) {
      ASSIGN_OR_RETURN(const bool is_directory, IsDirectory(target));
      return is_directory ? IsADirectory(path) : NoSuchObject(path);
    }
    RETURN_IF_ERROR(found);
    return client_->SendChecked({.method = "DELETE", .target = target}).status();
  }

  absl::Status DeleteRecursively(const std::string& path) override {
    ASSIGN_OR_RETURN(const S3Path target, S3Path::Parse(path));
    if (target.key.empty()) {
      return errors::FailedPrecondition(path, "; a whole bucket is not deleted: name a directory in it");
    }
    bool found = false;
    if (const absl::Status file = StatObject(target).status(); file.ok()) {
      found = true;
      RETURN_IF_ERROR(client_->SendChecked({.method = "DELETE", .target = target}).status());
    } else if (!absl::IsNotFound(file)) {
      return file;
    }
    // Each page is deleted before the first of the rest is asked for.
    std::set<std::string> deleted;  // the first key of each page
    for (;; found = true) {
      ASSIGN_OR_RETURN(const S3Page page, client_->List(target, target.DirectoryPrefix(), "", ""));
      if (page.objects.empty()) return found ? absl::OkStatus() : NoSuchObject(path);
      if (!deleted.insert(page.objects[0].key).second) {
        return errors::Unavailable(path, "; the store still lists ", page.objects[0].key, " after it was deleted");
      }
      if (deleted.size() > kMaxPages) {
        return errors::ResourceExhausted(path, "; the listing has more than ", kMaxPages, " pages");
      }
      RETURN_IF_ERROR(DeleteAll(target, page.objects));
    }
  }

  absl::Status CreateDir(const std::string& path) override {
    ASSIGN_OR_RETURN(const S3Path target, S3Path::Parse(path));
    ASSIGN_OR_RETURN(const bool exists, IsDirectory(target));
    if (exists || target.key.empty()) return absl::OkStatus();
    const absl::Status file = StatObject(target).status();
    if (file.ok()) return IsNoDirectory(path);
    if (!absl::IsNotFound(file)) return file;
    return client_->SendChecked({.method = "PUT", .target = {target.bucket, target.key + "/"}}).status();
  }

  absl::StatusOr<std::vector<std::string>> List(const std::string& dir) override {
    ASSIGN_OR_RETURN(const S3Path target, S3Path::Parse(dir));
    const std::string prefix = target.DirectoryPrefix();
    std::set<std::string> names;
    bool exists = target.key.empty();
    std::string token;
    std::set<std::string> tokens;
    size_t bytes = 0;
    do {
      ASSIGN_OR_RETURN(const S3Page page, client_->List(target, prefix, "/", token));
      exists = exists || !page.objects.empty() || !page.prefixes.empty();
      for (const S3Object& object : page.objects) AddName(object.key, prefix, &names);
      for (const std::string& below : page.prefixes) AddName(below, prefix, &names);
      for (const S3Object& object : page.objects) bytes += object.key.size();
      for (const std::string& below : page.prefixes) bytes += below.size();
      token = page.next_token;
      const bool is_repeated = !token.empty() && !tokens.insert(token).second;
      if (names.size() > kMaxNames || bytes > kMaxListedBytes || tokens.size() > kMaxPages || is_repeated) {
        return errors::ResourceExhausted(dir, "; the listing has more than ", kMaxNames, " names, ", kMaxPages,
                                         " pages or ", kMaxListedBytes, " bytes, or does not end");
      }
    } while (!token.empty());
    if (exists) return std::vector<std::string>(names.begin(), names.end());
    const absl::Status file = StatObject(target).status();
    if (file.ok()) return IsNoDirectory(dir);
    return absl::IsNotFound(file) ? NoSuchObject(dir) : file;
  }

  absl::StatusOr<FileStat> Stat(const std::string& path) override {
    ASSIGN_OR_RETURN(const S3Path target, S3Path::Parse(path));
    if (!target.key.empty()) {
      const absl::StatusOr<ObjectStat> file = StatObject(target);
      if (file.ok()) return file->stat;
      if (!absl::IsNotFound(file.status())) return file.status();
    }
    ASSIGN_OR_RETURN(const bool is_directory, IsDirectory(target));
    if (!is_directory) return NoSuchObject(path);
    FileStat stat;
    stat.is_directory = true;
    return stat;
  }

  absl::Status SyncDir(const std::string& dir) override { return S3Path::Parse(dir).status(); }

  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path, absl::Duration patience) override {
    return errors::Unimplemented(path, "; an object store has no locks");
  }

 private:
  static absl::StatusOr<S3Path> ParseFile(const std::string& path) {
    ASSIGN_OR_RETURN(S3Path target, S3Path::Parse(path));
    if (target.key.empty() || absl::EndsWith(path, "/")) return IsADirectory(path);
    return target;
  }

  static S3Call CallWith(const S3Path& target, const std::vector<std::string>& headers, uint64_t max_reply) {
    S3Call call = {.target = target, .max_reply = max_reply};
    for (const std::string& line : headers) {
      const size_t colon = line.find(": ");
      call.headers[absl::AsciiStrToLower(line.substr(0, colon))] = line.substr(colon + 2);
    }
    return call;
  }

  static void AddName(absl::string_view key, const std::string& prefix, std::set<std::string>* names) {
    if (!absl::ConsumePrefix(&key, prefix)) return;
    absl::ConsumeSuffix(&key, "/");
    if (!key.empty()) names->insert(std::string(key));
  }

  // NotFound if there is no such object, even if it is a directory.
  absl::StatusOr<ObjectStat> StatObject(const S3Path& target) const {
    const S3Call call = {.method = "HEAD", .target = target};
    ASSIGN_OR_RETURN(const WebReply reply, client_->Send(call));
    if (reply.status == 404) return NoSuchObject(target.ToString());
    if (reply.status != 200) {
      // The reply to HEAD has no document that says why.
      ASSIGN_OR_RETURN(const WebReply explained, client_->Send(CallWith(target, {"Range: bytes=0-0"}, 1)));
      const absl::Status reason = client_->ErrorOf({.target = target}, explained);
      return reason.ok() ? client_->ErrorOf(call, reply) : reason;
    }
    ObjectStat found;
    if (!absl::SimpleAtoi(reply.Header("content-length"), &found.stat.size)) {
      return errors::DataLoss(target.ToString(), "; the store does not give the object's size");
    }
    const time_t modified = curl_getdate(reply.Header("last-modified").c_str(), nullptr);
    if (modified > 0) found.stat.mtime_nanos = int64_t{modified} * 1'000'000'000;
    found.etag = reply.Header("etag");
    return found;
  }

  absl::StatusOr<bool> IsDirectory(const S3Path& target) const {
    ASSIGN_OR_RETURN(const S3Page page, client_->List(target, target.DirectoryPrefix(), "", "", 1));
    return target.key.empty() || !page.objects.empty();
  }

  absl::Status Copy(const S3Path& source, const ObjectStat& found, const S3Path& target) const {
    const uint64_t piece = client_->options().max_copy_bytes, size = found.stat.size;
    if (size <= piece) {
      S3Call call = {.method = "PUT",
                     .target = target,
                     .headers = {{"x-amz-copy-source", CopySource(source)}},
                     .result = "CopyObjectResult",
                     .works_in_silence = true};
      if (!found.etag.empty()) call.headers["x-amz-copy-source-if-match"] = found.etag;
      return client_->SendChecked(call).status();
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<S3Upload> upload, S3Upload::Start(client_.get(), target));
    for (uint64_t offset = 0; offset < size; offset += piece) {
      RETURN_IF_ERROR(upload->AddCopy(source, found.etag, offset, std::min(piece, size - offset)));
    }
    return upload->Complete();
  }

  // Deletes `keys`. If the store could not delete some for now, these stay, `again` is set, and the error is of one.
  absl::Status DeleteSome(const S3Path& target, std::set<std::string>* keys, bool* again) const {
    std::string document = "<Delete><Quiet>true</Quiet>";
    for (const std::string& key : *keys) {
      absl::StrAppend(&document, "<Object><Key>", XmlEscaped(key), "</Key></Object>");
    }
    document += "</Delete>";
    const S3Call call = {.method = "POST",
                         .target = {target.bucket, ""},
                         .query = {{"delete", ""}},
                         .headers = {{"content-md5", absl::Base64Escape(Md5(document))}},
                         .body = document,
                         .result = "DeleteResult"};
    ASSIGN_OR_RETURN(const WebReply reply, client_->SendChecked(call));
    ASSIGN_OR_RETURN(const XmlElement result, ParseXml(reply.body));
    absl::Status status;
    std::set<std::string> undeleted;
    for (const XmlElement& error : result.children) {
      if (error.name != "Error") continue;
      const std::string key = error.Text("Key"), code = error.Text("Code");
      if (code == "NoSuchKey") continue;
      S3Call of_key = call;
      of_key.target.key = key;
      status = client_->ErrorOf(of_key, reply, error);
      if (!IsPassingS3Code(code) || keys->count(key) == 0) return status;
      undeleted.insert(key);
    }
    *keys = std::move(undeleted);
    *again = !keys->empty();
    return status;
  }

  absl::Status DeleteAll(const S3Path& target, const std::vector<S3Object>& objects) const {
    const WebOptions& web = client_->options().web;
    std::set<std::string> keys;
    for (const S3Object& object : objects) keys.insert(object.key);
    absl::Duration pause = web.first_pause;
    for (int tried = 1;; ++tried) {
      bool again = false;
      const absl::Status status = DeleteSome(target, &keys, &again);
      if (!again || tried >= web.tries) return status;
      absl::SleepFor(pause);
      pause = std::min(pause * 2, web.max_pause);
    }
  }

  // Files keep it too, which may outlive the file system.
  const std::shared_ptr<const S3Client> client_;
};

}  // namespace

std::unique_ptr<FileSystem> NewS3FileSystem(S3FileOptions options) {
  return std::make_unique<S3FileSystem>(std::move(options));
}

std::unique_ptr<FileSystem> NewS3FileSystem() {
  S3FileOptions options;
  options.settings = [] { return LoadS3Settings(); };
  return NewS3FileSystem(std::move(options));
}

}  // namespace weir
