#include "master/journal/journal_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/logging.h"

namespace weir {
namespace {

constexpr mode_t kOwnerOnly = 0600;
constexpr size_t kCopied = 1 << 20;
// Linux transfers at most 2 GiB less a page in one call.
constexpr size_t kMaxTransfer = 1 << 30;

absl::Status LastError(const std::string& path) {
  const int error = errno;
  const std::string message = absl::StrCat(path, "; ", std::generic_category().message(error));
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
      return absl::FailedPreconditionError(message);
    default:
      return absl::UnavailableError(message);
  }
}

absl::Status WriteAll(int fd, const std::string& path, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), std::min(bytes.size(), kMaxTransfer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return LastError(path);
    bytes.remove_prefix(n);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<JournalFile>> JournalFile::Open(const std::string& directory, const std::string& name) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return errors::FailedPrecondition("Cannot make directory ", directory, ": ", error.message());
  const std::string stem = absl::StrCat(directory, "/", name);
  const std::string lock_path = absl::StrCat(stem, ".lock");
  const int lock = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnerOnly);
  if (lock < 0) return LastError(lock_path);
  std::unique_ptr<JournalFile> file(new JournalFile(directory, absl::StrCat(stem, ".journal"), lock));
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return LastError(lock_path);
    return errors::FailedPrecondition("Another process uses journal ", file->path_, ": it holds the lock on ",
                                      lock_path, ". End that server, or give this one another directory");
  }
  file->fd_ = open(file->path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, kOwnerOnly);
  if (file->fd_ < 0) return LastError(file->path_);
  return file;
}

JournalFile::~JournalFile() {
  if (fd_ >= 0) close(fd_);
  close(lock_);
}

absl::StatusOr<uint64_t> JournalFile::Size() const {
  struct stat info;
  if (fstat(fd_, &info) != 0) return LastError(path_);
  return static_cast<uint64_t>(info.st_size);
}

absl::Status JournalFile::Read(JournalExtent extent, char* buffer) const {
  while (extent.size > 0) {
    const ssize_t n =
        pread(fd_, buffer, std::min<uint64_t>(extent.size, kMaxTransfer), static_cast<off_t>(extent.offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return LastError(path_);
    if (n == 0) return errors::DataLoss(path_, " ends before offset ", extent.offset + extent.size);
    buffer += n;
    extent.offset += n;
    extent.size -= n;
  }
  return absl::OkStatus();
}

absl::Status JournalFile::Append(absl::string_view bytes) {
  RETURN_IF_ERROR(WriteAll(fd_, path_, bytes));
  return fdatasync(fd_) == 0 ? absl::OkStatus() : LastError(path_);
}

absl::Status JournalFile::Truncate(uint64_t size) {
  return ftruncate(fd_, static_cast<off_t>(size)) == 0 ? absl::OkStatus() : LastError(path_);
}

absl::Status JournalFile::WriteSuccessor(int fd, const std::string& path, absl::string_view head,
                                         const std::vector<JournalExtent>& kept) {
  RETURN_IF_ERROR(WriteAll(fd, path, head));
  std::string buffer;
  for (JournalExtent extent : kept) {
    while (extent.size > 0) {
      buffer.resize(std::min<uint64_t>(extent.size, kCopied));
      RETURN_IF_ERROR(Read({extent.offset, buffer.size()}, buffer.data()));
      RETURN_IF_ERROR(WriteAll(fd, path, buffer));
      extent.offset += buffer.size();
      extent.size -= buffer.size();
    }
  }
  return fdatasync(fd) == 0 ? absl::OkStatus() : LastError(path);
}

absl::Status JournalFile::Replace(absl::string_view head, const std::vector<JournalExtent>& kept) {
  const std::string path = absl::StrCat(path_, ".new");
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, kOwnerOnly);
  if (fd < 0) return LastError(path);
  absl::Status status = WriteSuccessor(fd, path, head, kept);
  if (status.ok() && rename(path.c_str(), path_.c_str()) != 0) status = LastError(path_);
  if (!status.ok()) {
    close(fd);
    unlink(path.c_str());
    return status;
  }
  close(std::exchange(fd_, fd));
  // The new file is in use whatever happens; only a crash of the machine could bring the old one back.
  const int directory = open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0 || (fsync(directory) != 0 && errno != EINVAL)) {
    WEIR_LOG(WARNING) << "the renaming of a journal is not yet on the disk: " << LastError(directory_).message();
  }
  if (directory >= 0) close(directory);
  return absl::OkStatus();
}

}  // namespace weir
