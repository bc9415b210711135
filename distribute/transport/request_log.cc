#include "distribute/transport/request_log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"

namespace weir {
namespace {

constexpr uint64_t kFormat = 0x7765697271310001;
constexpr mode_t kOwnerOnly = 0600;

absl::Status LogError(const std::string& path, absl::string_view call, int error) {
  return errors::FailedPrecondition("The log of requests, ", path, ", cannot be used: ", call, ": ",
                                    std::generic_category().message(error));
}

// Somebody else may have made a file of that name.
absl::Status CheckOwner(int fd, const std::string& path) {
  struct stat info;
  if (fstat(fd, &info) != 0) return LogError(path, "fstat", errno);
  if (!S_ISREG(info.st_mode) || info.st_uid != geteuid()) {
    return errors::FailedPrecondition("The log of requests, ", path, ", is no file of this user: remove it");
  }
  return absl::OkStatus();
}

}  // namespace

std::string RequestLog::PathFor(uint64_t journal_id) {
  return absl::StrFormat("/dev/shm/weir-requests-%016x", journal_id);
}

absl::StatusOr<std::unique_ptr<RequestLog>> RequestLog::Open(uint64_t journal_id) {
  std::string path = PathFor(journal_id);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kOwnerOnly);
  if (fd < 0) return LogError(path, "open", errno);
  absl::Status status = CheckOwner(fd, path);
  if (status.ok() && flock(fd, LOCK_EX | LOCK_NB) != 0) {
    status = errno == EWOULDBLOCK
                 ? errors::FailedPrecondition("The log of requests, ", path,
                                              ", is used by another server: was the journal's directory copied?")
                 : LogError(path, "flock", errno);
  }
  // Its pages must exist: the process would die if there was no memory for one of them later.
  if (const int error = status.ok() ? posix_fallocate(fd, 0, sizeof(Ring)) : 0; error != 0) {
    status = LogError(path, "posix_fallocate", error);
  }
  void* memory = MAP_FAILED;
  if (status.ok()) {
    memory = mmap(nullptr, sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) status = LogError(path, "mmap", errno);
  }
  if (!status.ok()) {
    close(fd);
    return status;
  }
  std::unique_ptr<RequestLog> log(new RequestLog(std::move(path), fd, static_cast<Ring*>(memory)));
  Ring& ring = *log->ring_;
  log->continues_ = ring.format == kFormat && ring.journal_id == journal_id;
  if (!log->continues_) {
    for (std::atomic<int64_t>& id : ring.ids) id = 0;
    ring.next = 0;
    ring.journal_id = journal_id;
    ring.format = kFormat;
  }
  for (const std::atomic<int64_t>& id : ring.ids) {
    if (id != 0) log->earlier_.insert(id);
  }
  return log;
}

RequestLog::~RequestLog() {
  munmap(ring_, sizeof(Ring));
  close(fd_);
}

void RequestLog::Add(int64_t request_id) {
  const uint64_t slot = ring_->next.fetch_add(1, std::memory_order_relaxed) % kCapacity;
  ring_->ids[slot].store(request_id, std::memory_order_release);
}

void RequestLog::Remove() { unlink(path_.c_str()); }

}  // namespace weir
