#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/files/file_system.h"
#include "core/files/open_file_limit.h"

namespace weir {
namespace {

constexpr size_t kBufferSize = 64 << 10;
// Linux transfers at most 2 GiB less a page in one call.
constexpr size_t kMaxTransfer = 1 << 30;
constexpr int kPatienceMillis = 5000;  // of a write to a full pipe
// Writeback is started every so many bytes, so that the final sync has little left to do.
constexpr int64_t kWritebackBytes = 32 << 20;
constexpr absl::Duration kFirstLockPause = absl::Milliseconds(1), kMaxLockPause = absl::Milliseconds(50);

absl::Status ErrnoStatus(const std::string& path, int error) {
  std::string message = absl::StrCat(path, "; ", std::generic_category().message(error));
  if (IsOpenFileLimit(error)) absl::StrAppend(&message, ": ", OpenFileLimitReached());
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case EEXIST:
      return absl::AlreadyExistsError(message);
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case EFBIG:
      return absl::ResourceExhaustedError(message);
    case EISDIR:
    case ENOTDIR:
    case ENOTEMPTY:
    case EBUSY:
    case ELOOP:
    case ENXIO:
    case ENODEV:
      return absl::FailedPreconditionError(message);
    case EINVAL:
    case ENAMETOOLONG:
      return absl::InvalidArgumentError(message);
    default:
      return absl::UnknownError(message);
  }
}

absl::Status LastError(const std::string& path) { return ErrnoStatus(path, errno); }

std::string Local(const std::string& path) { return std::string(absl::StripPrefix(path, "file://")); }

// The system would treat the part before a NUL byte as the whole name.
absl::Status CheckName(const std::string& path) {
  if (path.find('\0') == std::string::npos) return absl::OkStatus();
  return errors::InvalidArgument(absl::CEscape(path), "; a file name cannot contain a NUL byte");
}

// Readers need a file with an end; /dev/null counts as an empty one.
absl::Status CheckReadable(const std::string& path, int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return LastError(path);
  if (S_ISDIR(info.st_mode)) return ErrnoStatus(path, EISDIR);
  const bool is_null = S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3);
  if (S_ISREG(info.st_mode) || is_null) return absl::OkStatus();
  return errors::FailedPrecondition(path, "; a pipe, socket or device, not a regular file: copy its content to a file");
}

class PosixReadableFile : public ReadableFile {
 public:
  PosixReadableFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  ~PosixReadableFile() override { close(fd_); }

  const std::string& path() const override { return path_; }

  absl::StatusOr<uint64_t> Size() const override {
    struct stat info;
    if (fstat(fd_, &info) != 0) return LastError(path_);
    return static_cast<uint64_t>(info.st_size);
  }

  absl::StatusOr<size_t> Read(uint64_t offset, size_t size, char* buffer) const override {
    size_t read = 0;
    while (read < size) {
      const ssize_t n = pread(fd_, buffer + read, std::min(size - read, kMaxTransfer), offset + read);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return LastError(path_);
      if (n == 0) break;
      read += n;
    }
    return read;
  }

 private:
  const std::string path_;
  const int fd_;
};

class PosixWritableFile : public WritableFile {
 public:
  PosixWritableFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  ~PosixWritableFile() override { Close().IgnoreError(); }

  absl::Status Append(absl::string_view data) override {
    if (buffer_.size() + data.size() < kBufferSize) {
      buffer_.append(data.data(), data.size());
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(Flush());
    if (data.size() >= kBufferSize) return Write(data);
    buffer_.assign(data.data(), data.size());
    return absl::OkStatus();
  }

  absl::Status Flush() override {
    RETURN_IF_ERROR(Write(buffer_));
    buffer_.clear();
    return absl::OkStatus();
  }

  absl::Status Sync() override {
    RETURN_IF_ERROR(Flush());
    return fdatasync(fd_) == 0 ? absl::OkStatus() : LastError(path_);
  }

  absl::Status Close() override {
    if (fd_ < 0) return absl::OkStatus();
    absl::Status status = Flush();
    if (close(fd_) != 0 && status.ok()) status = LastError(path_);
    fd_ = -1;
    return status;
  }

 private:
  absl::Status Write(absl::string_view data) {
    while (!data.empty()) {
      const ssize_t n = write(fd_, data.data(), std::min(data.size(), kMaxTransfer));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) {
        pollfd room = {.fd = fd_, .events = POLLOUT};
        if (poll(&room, 1, kPatienceMillis) > 0) continue;
        return errors::Unavailable(path_, "; the pipe is full and nothing reads it");
      }
      if (n < 0) return LastError(path_);
      data.remove_prefix(n);
      written_ += n;
    }
    if (written_ - started_ >= kWritebackBytes) {
      // Only a hint: Sync reports failures. Waiting for the range before keeps dirty pages from piling up, which would
      // slow down other writers and Sync.
      sync_file_range(fd_, started_, written_ - started_, SYNC_FILE_RANGE_WRITE);
      if (started_ > 0) {
        sync_file_range(fd_, waited_, started_ - waited_, SYNC_FILE_RANGE_WAIT_BEFORE);
        waited_ = started_;
      }
      started_ = written_;
    }
    return absl::OkStatus();
  }

  const std::string path_;
  int fd_;
  std::string buffer_;
  int64_t written_ = 0;
  int64_t started_ = 0;  // writeback has been started for the bytes before this
  int64_t waited_ = 0;   // and has ended for those before this
};

// A lock by flock(2): it belongs to the open file, so it also excludes other threads of this process.
class PosixFileLock : public FileLock {
 public:
  explicit PosixFileLock(int fd) : fd_(fd) {}
  ~PosixFileLock() override { close(fd_); }
  PosixFileLock(const PosixFileLock&) = delete;

 private:
  const int fd_;
};

class PosixFileSystem : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<ReadableFile>> NewReadableFile(const std::string& path) override {
    RETURN_IF_ERROR(CheckName(path));
    // O_NONBLOCK, because opening a pipe would wait for a writer.
    const int fd = open(Local(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return LastError(path);
    auto file = std::make_unique<PosixReadableFile>(path, fd);
    RETURN_IF_ERROR(CheckReadable(path, fd));
    return file;
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(const std::string& path) override {
    return OpenForWriting(path, O_TRUNC);
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> NewAppendableFile(const std::string& path) override {
    return OpenForWriting(path, O_APPEND);
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    RETURN_IF_ERROR(CheckName(from));
    RETURN_IF_ERROR(CheckName(to));
    if (rename(Local(from).c_str(), Local(to).c_str()) == 0) return absl::OkStatus();
    return LastError(absl::StrCat(from, " -> ", to));
  }

  absl::Status DeleteFile(const std::string& path) override {
    RETURN_IF_ERROR(CheckName(path));
    return unlink(Local(path).c_str()) == 0 ? absl::OkStatus() : LastError(path);
  }

  absl::Status DeleteRecursively(const std::string& path) override {
    RETURN_IF_ERROR(CheckName(path));
    std::error_code error;
    const auto removed = std::filesystem::remove_all(Local(path), error);
    if (error) return ErrnoStatus(path, error.value());
    return removed > 0 ? absl::OkStatus() : ErrnoStatus(path, ENOENT);
  }

  absl::Status CreateDir(const std::string& path) override {
    RETURN_IF_ERROR(CheckName(path));
    std::error_code error;
    std::filesystem::create_directories(Local(path), error);
    return error ? ErrnoStatus(path, error.value()) : absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> List(const std::string& dir) override {
    RETURN_IF_ERROR(CheckName(dir));
    std::error_code error;
    std::filesystem::directory_iterator it(Local(dir), error);
    std::vector<std::string> names;
    for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
      names.push_back(it->path().filename().string());
    }
    if (error) return ErrnoStatus(dir, error.value());
    std::sort(names.begin(), names.end());
    return names;
  }

  absl::StatusOr<FileStat> Stat(const std::string& path) override {
    RETURN_IF_ERROR(CheckName(path));
    struct stat info;
    if (stat(Local(path).c_str(), &info) != 0) return LastError(path);
    FileStat result;
    result.is_directory = S_ISDIR(info.st_mode);
    result.size = result.is_directory ? 0 : info.st_size;
    result.mtime_nanos = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
    return result;
  }

  absl::Status SyncDir(const std::string& dir) override {
    const int fd = open(Local(dir).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return LastError(dir);
    // Some file systems cannot sync a directory and return EINVAL: there is nothing to wait for then.
    const int error = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
    close(fd);
    return error == 0 ? absl::OkStatus() : ErrnoStatus(dir, error);
  }

  // flock cannot wait with a deadline, so this polls.
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path, absl::Duration patience) override {
    RETURN_IF_ERROR(CheckName(path));
    const int fd = open(Local(path).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0644);
    if (fd < 0) return LastError(path);
    auto lock = std::make_unique<PosixFileLock>(fd);
    const absl::Time deadline = MonotonicNow() + patience;
    for (absl::Duration pause = kFirstLockPause;; pause = std::min(pause * 2, kMaxLockPause)) {
      if (flock(fd, LOCK_EX | LOCK_NB) == 0) return lock;
      if (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS) {
        return errors::Unimplemented(path, "; the file system does not support locks");
      }
      if (errno != EWOULDBLOCK && errno != EINTR) return LastError(path);
      if (MonotonicNow() >= deadline) {
        return errors::DeadlineExceeded(path, "; still locked after ", absl::FormatDuration(patience));
      }
      absl::SleepFor(pause);
    }
  }

 private:
  // Writing to a pipe without a reader is an error, rather than waiting for one in open() or write().
  static absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWriting(const std::string& path, int flags) {
    RETURN_IF_ERROR(CheckName(path));
    const int fd = open(Local(path).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags, 0644);
    if (fd < 0 && errno == ENXIO) {
      return errors::FailedPrecondition(path, "; a pipe without a reader, or a socket: use a file");
    }
    if (fd < 0) return LastError(path);
    return std::make_unique<PosixWritableFile>(path, fd);
  }
};

}  // namespace

std::unique_ptr<FileSystem> NewPosixFileSystem() { return std::make_unique<PosixFileSystem>(); }

}  // namespace weir
