#include "distribute/transport/shared_memory/shared_segment.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

absl::Status SegmentError(absl::string_view call) {
  const int error = errno;
  return errors::PermissionDenied("Shared memory: ", call, ": ", std::string(std::strerror(error)));
}

std::string RandomSegmentToken() {
  std::string token(SharedSegment::kTokenBytes, '\0');
  std::random_device entropy;
  for (size_t i = 0; i < token.size(); i += sizeof(unsigned)) {
    const unsigned word = entropy();
    std::memcpy(&token[i], &word, sizeof(word));
  }
  return token;
}

bool HasEnded(int process) {
  pollfd ended = {.fd = process, .events = POLLIN};
  return poll(&ended, 1, 0) > 0;
}

// Opens the memory after checking its name: opening another file could have side effects.
absl::StatusOr<int> OpenSegment(absl::string_view kind, const SharedSegmentName& name) {
  const std::string path = absl::StrCat("/proc/", name.pid(), "/fd/", name.fd());
  char link[64];
  const ssize_t length = readlink(path.c_str(), link, sizeof(link));
  if (length < 0) return SegmentError("readlink");
  if (absl::string_view(link, length) != absl::StrCat("/memfd:", kind, " (deleted)")) {
    return errors::InvalidArgument(path, " is not one of Weir's files of kind ", kind, "");
  }
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return SegmentError("open");
  return fd;
}

// Checks that the file belongs to this user, has that size and is sealed; otherwise the other end could remove pages in
// use.
absl::Status CheckMemory(int fd, size_t bytes) {
  struct stat file = {};
  const int seals = fcntl(fd, F_GET_SEALS);
  const bool is_good = fstat(fd, &file) == 0 && file.st_uid == geteuid() && seals >= 0 &&
                       (seals & F_SEAL_SHRINK) != 0 && file.st_size >= 0 &&
                       static_cast<uint64_t>(file.st_size) == bytes;
  return is_good ? absl::OkStatus() : errors::InvalidArgument("Shared memory of another user, size or seal");
}

}  // namespace

absl::StatusOr<char*> SharedSegment::Map(int fd, size_t bytes) {
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (base == MAP_FAILED) return SegmentError("mmap");
  return static_cast<char*>(base);
}

absl::StatusOr<std::unique_ptr<SharedSegment>> SharedSegment::Create(absl::string_view kind, size_t data_bytes) {
  const size_t bytes = kDataOffset + data_bytes;
  const int fd = memfd_create(std::string(kind).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return SegmentError("memfd_create");
  auto close_fd = absl::MakeCleanup([fd] { close(fd); });
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) return SegmentError("ftruncate");
  // Fails if the system has no memory left; a later write would kill the process.
  if (fallocate(fd, 0, 0, static_cast<off_t>(bytes)) != 0) return SegmentError("fallocate");
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return SegmentError("fcntl");
  ASSIGN_OR_RETURN(char* const base, Map(fd, bytes));
  SharedSegmentName name;
  name.set_pid(getpid());
  name.set_fd(fd);
  name.set_bytes(bytes);
  name.set_token(RandomSegmentToken());
  std::memcpy(base, name.token().data(), kTokenBytes);
  std::move(close_fd).Cancel();
  return std::unique_ptr<SharedSegment>(new SharedSegment(fd, -1, base, std::move(name)));
}

absl::StatusOr<std::unique_ptr<SharedSegment>> SharedSegment::Open(absl::string_view kind, size_t data_bytes,
                                                                   const SharedSegmentName& name) {
  const size_t bytes = kDataOffset + data_bytes;
  if (name.pid() <= 0 || name.pid() > INT32_MAX || name.fd() < 0 || name.token().size() != kTokenBytes ||
      name.bytes() != bytes) {
    return errors::InvalidArgument("A malformed name of shared memory");
  }
  // Comes first: if the pid has been reused, the new process has no such memory.
  const int process = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(name.pid()), 0));
  if (process < 0) return SegmentError("pidfd_open");
  auto close_process = absl::MakeCleanup([process] { close(process); });
  ASSIGN_OR_RETURN(const int fd, OpenSegment(kind, name));
  auto close_fd = absl::MakeCleanup([fd] { close(fd); });
  RETURN_IF_ERROR(CheckMemory(fd, bytes));
  ASSIGN_OR_RETURN(char* const base, Map(fd, bytes));
  std::unique_ptr<SharedSegment> segment(new SharedSegment(fd, process, base, name));
  std::move(close_process).Cancel();
  std::move(close_fd).Cancel();
  if (std::memcmp(base, name.token().data(), kTokenBytes) != 0) {
    return errors::PermissionDenied("The token of the shared memory differs");
  }
  if (HasEnded(process)) return errors::PermissionDenied("The maker of the shared memory has ended");
  return segment;
}

SharedSegment::~SharedSegment() {
  munmap(base_, name_.bytes());
  close(fd_);
  if (process_ >= 0) close(process_);
}

bool SharedSegment::MakerIsGone() const { return process_ >= 0 && HasEnded(process_); }

}  // namespace weir
