#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "core/clock.h"
#include "core/files/file_system.h"
#include "core/mutex.h"

namespace weir {
namespace {

// The content of one file. Open readers keep it alive after the file is deleted or replaced.
struct FileContent {
  mutable Mutex mu;
  std::string bytes GUARDED_BY(mu);
  int64_t mtime_nanos GUARDED_BY(mu) = 0;

  void Append(absl::string_view data) {
    MutexLock lock(mu);
    bytes.append(data.data(), data.size());
    mtime_nanos =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
  }
};

class MemoryReadableFile : public ReadableFile {
 public:
  MemoryReadableFile(std::string path, std::shared_ptr<const FileContent> content)
      : path_(std::move(path)), content_(std::move(content)) {}

  const std::string& path() const override { return path_; }

  absl::StatusOr<uint64_t> Size() const override {
    MutexLock lock(content_->mu);
    return content_->bytes.size();
  }

  absl::StatusOr<size_t> Read(uint64_t offset, size_t size, char* buffer) const override {
    MutexLock lock(content_->mu);
    if (offset >= content_->bytes.size()) return 0;
    const size_t read = std::min<size_t>(size, content_->bytes.size() - offset);
    std::memcpy(buffer, content_->bytes.data() + offset, read);
    return read;
  }

 private:
  const std::string path_;
  const std::shared_ptr<const FileContent> content_;
};

class MemoryWritableFile : public WritableFile {
 public:
  explicit MemoryWritableFile(std::shared_ptr<FileContent> content) : content_(std::move(content)) {}

  absl::Status Append(absl::string_view data) override {
    if (content_ == nullptr) return errors::FailedPrecondition("Append to a closed file");
    content_->Append(data);
    return absl::OkStatus();
  }
  absl::Status Flush() override { return absl::OkStatus(); }
  absl::Status Sync() override { return absl::OkStatus(); }
  absl::Status Close() override {
    content_ = nullptr;
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<FileContent> content_;
};

// The names that are locked. Locks keep it alive.
struct LockedNames {
  Mutex mu;
  std::condition_variable released;
  std::set<std::string> names GUARDED_BY(mu);
};

class MemoryFileLock : public FileLock {
 public:
  MemoryFileLock(std::shared_ptr<LockedNames> locked, std::string name)
      : locked_(std::move(locked)), name_(std::move(name)) {}
  ~MemoryFileLock() override {
    MutexLock lock(locked_->mu);
    locked_->names.erase(name_);
    locked_->released.notify_all();
  }
  MemoryFileLock(const MemoryFileLock&) = delete;

 private:
  const std::shared_ptr<LockedNames> locked_;
  const std::string name_;
};

class MemoryFileSystem : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<ReadableFile>> NewReadableFile(const std::string& path) override {
    MutexLock lock(mu_);
    const std::string name = Normal(path);
    auto found = files_.find(name);
    if (found != files_.end()) return std::make_unique<MemoryReadableFile>(path, found->second);
    return IsDir(name) ? NotAFile(path) : NoSuchFile(path);
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(const std::string& path) override {
    return OpenForWriting(path, /*keep=*/false);
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> NewAppendableFile(const std::string& path) override {
    return OpenForWriting(path, /*keep=*/true);
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    MutexLock lock(mu_);
    const std::string source = Normal(from), target = Normal(to);
    if (IsDir(target) || IsDir(source)) return NotAFile(absl::StrCat(from, " -> ", to));
    auto found = files_.find(source);
    if (found == files_.end() || !IsDir(Parent(target))) return NoSuchFile(absl::StrCat(from, " -> ", to));
    if (source == target) return absl::OkStatus();
    files_[target] = std::move(found->second);
    files_.erase(source);
    return absl::OkStatus();
  }

  absl::Status DeleteFile(const std::string& path) override {
    MutexLock lock(mu_);
    const std::string name = Normal(path);
    if (IsDir(name)) return NotAFile(path);
    return files_.erase(name) > 0 ? absl::OkStatus() : NoSuchFile(path);
  }

  absl::Status DeleteRecursively(const std::string& path) override {
    MutexLock lock(mu_);
    const std::string name = Normal(path), below = name + "/";
    size_t removed = files_.erase(name) + dirs_.erase(name);
    removed += std::erase_if(files_, [&](const auto& entry) { return absl::StartsWith(entry.first, below); });
    removed += std::erase_if(dirs_, [&](const auto& dir) { return absl::StartsWith(dir, below); });
    return removed > 0 ? absl::OkStatus() : NoSuchFile(path);
  }

  absl::Status CreateDir(const std::string& path) override {
    MutexLock lock(mu_);
    for (std::string dir = Normal(path); !IsDir(dir); dir = Parent(dir)) {
      if (files_.count(dir) > 0) return NotADirectory(path);
      dirs_.insert(dir);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> List(const std::string& dir) override {
    MutexLock lock(mu_);
    const std::string name = Normal(dir);
    if (!IsDir(name)) return files_.count(name) > 0 ? NotADirectory(dir) : NoSuchFile(dir);
    std::vector<std::string> names;
    auto add = [&](const std::string& path) {
      if (path != name && Parent(path) == name) names.push_back(std::string(BaseName(path)));
    };
    for (const auto& [path, content] : files_) add(path);
    for (const std::string& path : dirs_) add(path);
    std::sort(names.begin(), names.end());
    return names;
  }

  absl::StatusOr<FileStat> Stat(const std::string& path) override {
    MutexLock lock(mu_);
    const std::string name = Normal(path);
    FileStat stat;
    stat.is_directory = IsDir(name);
    if (stat.is_directory) return stat;
    auto found = files_.find(name);
    if (found == files_.end()) return NoSuchFile(path);
    MutexLock content_lock(found->second->mu);
    stat.size = found->second->bytes.size();
    stat.mtime_nanos = found->second->mtime_nanos;
    return stat;
  }

  absl::Status SyncDir(const std::string& dir) override {
    MutexLock lock(mu_);
    return IsDir(Normal(dir)) ? absl::OkStatus() : NoSuchFile(dir);
  }

  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path, absl::Duration patience) override {
    RETURN_IF_ERROR(NewAppendableFile(path).status());
    const std::string name = Normal(path);
    const auto deadline = ToSteady(MonotonicNow() + patience);
    MutexLock lock(locked_->mu);
    while (!locked_->names.insert(name).second) {
      if (lock.WaitUntil(locked_->released, deadline) == std::cv_status::timeout) {
        return errors::DeadlineExceeded(path, "; still locked after ", absl::FormatDuration(patience));
      }
    }
    return std::make_unique<MemoryFileLock>(locked_, name);
  }

 private:
  static absl::Status NoSuchFile(const std::string& path) {
    return errors::NotFound(path, "; No such file or directory");
  }
  static absl::Status NotAFile(const std::string& path) { return errors::FailedPrecondition(path, "; Is a directory"); }
  static absl::Status NotADirectory(const std::string& path) {
    return errors::FailedPrecondition(path, "; Not a directory");
  }

  // Removes trailing and repeated slashes, and a leading ".".
  static std::string Normal(std::string path) {
    while (absl::StartsWith(path, "./")) path.erase(0, 2);
    if (path == ".") return "";
    const size_t root = SchemeOf(path).empty() ? 0 : SchemeOf(path).size() + 3;
    std::string normal = path.substr(0, root);
    for (size_t i = root; i < path.size(); ++i) {
      if (path[i] != '/' || i == root || path[i - 1] != '/') normal += path[i];
    }
    while (normal.size() > std::max<size_t>(root, 1) && normal.back() == '/') normal.pop_back();
    return normal;
  }
  static std::string Parent(const std::string& path) { return std::string(DirName(path)); }
  static bool IsRoot(absl::string_view path) { return path.empty() || path == "/" || absl::EndsWith(path, "://"); }
  bool IsDir(const std::string& path) const REQUIRES(mu_) { return IsRoot(path) || dirs_.count(path) > 0; }

  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWriting(const std::string& path, bool keep) {
    MutexLock lock(mu_);
    const std::string name = Normal(path);
    if (IsDir(name)) return NotAFile(path);
    if (!IsDir(Parent(name))) return NoSuchFile(path);
    std::shared_ptr<FileContent>& content = files_[name];
    if (content == nullptr || !keep) content = std::make_shared<FileContent>();
    content->Append("");
    return std::make_unique<MemoryWritableFile>(content);
  }

  Mutex mu_;
  std::map<std::string, std::shared_ptr<FileContent>> files_ GUARDED_BY(mu_);
  std::set<std::string> dirs_ GUARDED_BY(mu_);
  const std::shared_ptr<LockedNames> locked_ = std::make_shared<LockedNames>();
};

}  // namespace

std::unique_ptr<FileSystem> NewMemoryFileSystem() { return std::make_unique<MemoryFileSystem>(); }

}  // namespace weir
