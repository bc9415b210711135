#include "distribute/transport/shared_memory/sending_arena.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "distribute/transport/shared_memory/arena_layout.h"

namespace weir {
namespace {

// Blocks are page-aligned; large ones are aligned to huge pages.
constexpr uint64_t kPage = 4096;
constexpr uint64_t kHugePage = uint64_t{2} << 20;

uint64_t RoundUp(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

absl::Status OfferError(absl::string_view call) {
  return errors::PermissionDenied("Offered shared memory: ", call, ": ", std::string(std::strerror(errno)));
}

// Opens the memory that an offer names, after checking its name: opening another file could have side effects.
absl::StatusOr<int> OpenOffer(const SharedMemoryOffer& offer) {
  const std::string path = absl::StrCat("/proc/", offer.pid(), "/fd/", offer.fd());
  char name[64];
  const ssize_t length = readlink(path.c_str(), name, sizeof(name));
  if (length < 0) return OfferError("readlink");
  if (absl::string_view(name, length) != absl::StrCat("/memfd:", kArenaName, " (deleted)")) {
    return errors::InvalidArgument(path, " is not one of Weir's shared memory files");
  }
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return OfferError("open");
  struct stat file = {};
  const int seals = fcntl(fd, F_GET_SEALS);
  // Without the seal, the receiver could remove pages while this process writes.
  if (fstat(fd, &file) != 0 || seals < 0 || (seals & F_SEAL_SHRINK) == 0 || file.st_size < 0 ||
      static_cast<uint64_t>(file.st_size) != offer.bytes() || offer.bytes() <= kArenaDataOffset) {
    close(fd);
    return errors::InvalidArgument(path, " is not sealed, or has another size than offered");
  }
  return fd;
}

}  // namespace

SendingArena::SendingArena(int fd, int process, char* base, size_t bytes)
    : fd_(fd), process_(process), base_(base), bytes_(bytes), pages_end_(kArenaDataOffset) {
  free_[kArenaDataOffset] = bytes - kArenaDataOffset;
  for (size_t i = kArenaBlocks; i > 0; --i) free_blocks_.push_back(static_cast<uint32_t>(i - 1));
}

SendingArena::~SendingArena() {
  munmap(base_, bytes_);
  close(fd_);
  if (process_ >= 0) close(process_);
}

ArenaHeader* SendingArena::header() const { return reinterpret_cast<ArenaHeader*>(base_); }

absl::StatusOr<std::shared_ptr<SendingArena>> SendingArena::Open(const SharedMemoryOffer& offer) {
  if (offer.pid() <= 0 || offer.pid() > INT32_MAX || offer.fd() < 0 || offer.token().size() != kArenaTokenBytes) {
    return errors::InvalidArgument("A malformed offer of shared memory");
  }
  ASSIGN_OR_RETURN(const int fd, OpenOffer(offer));
  void* base = mmap(nullptr, offer.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED) {
    close(fd);
    return OfferError("mmap");
  }
  madvise(base, offer.bytes(), MADV_HUGEPAGE);
  const int process = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(offer.pid()), 0));
  std::shared_ptr<SendingArena> arena(new SendingArena(fd, process, static_cast<char*>(base), offer.bytes()));
  if (std::memcmp(arena->header()->token.data(), offer.token().data(), kArenaTokenBytes) != 0) {
    return errors::PermissionDenied("The token of the offered shared memory differs");
  }
  uint64_t unclaimed = 0;
  if (!arena->header()->claimed.compare_exchange_strong(unclaimed, 1)) {
    return errors::AlreadyExists("The offered shared memory is another sender's");
  }
  return arena;
}

bool SendingArena::Write(const Tensor& tensor, SharedMemoryReply* reply) {
  const uint64_t bytes = static_cast<uint64_t>(tensor.TotalBytes());
  uint32_t block = 0;
  Range range;
  if (!Allocate(RoundUp(bytes, bytes >= kHugePage ? kHugePage : kPage), &block, &range)) return false;
  if (!HasPages(range)) {
    header()->lent[block].store(0, std::memory_order_relaxed);
    return false;
  }
  std::memcpy(base_ + range.offset, tensor.raw_data(), bytes);
  reply->set_dtype(static_cast<tensorflow::DataType>(tensor.dtype()));
  tensor.shape().ToProto(reply->mutable_tensor_shape());
  reply->set_offset(range.offset);
  reply->set_block(block);
  return true;
}

bool SendingArena::Allocate(uint64_t bytes, uint32_t* block, Range* range) {
  MutexLock lock(mu_);
  TakeBack();
  if (free_blocks_.empty()) return false;
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const Range whole{it->first, it->second};
    const uint64_t start = bytes >= kHugePage ? RoundUp(whole.offset, kHugePage) : whole.offset;
    if (start - whole.offset > whole.bytes || whole.bytes - (start - whole.offset) < bytes) continue;
    free_.erase(it);
    *range = {start, bytes};
    if (start > whole.offset) free_[whole.offset] = start - whole.offset;
    if (const uint64_t end = whole.offset + whole.bytes; end > start + bytes)
      free_[start + bytes] = end - start - bytes;
    *block = free_blocks_.back();
    free_blocks_.pop_back();
    header()->lent[*block].store(1, std::memory_order_relaxed);
    lent_.emplace_back(*block, *range);
    return true;
  }
  return false;
}

void SendingArena::TakeBack() {
  for (size_t i = 0; i < lent_.size();) {
    if (header()->lent[lent_[i].first].load(std::memory_order_acquire) != 0) {
      ++i;
      continue;
    }
    Free(lent_[i].second);
    free_blocks_.push_back(lent_[i].first);
    lent_[i] = lent_.back();
    lent_.pop_back();
  }
}

void SendingArena::Free(Range range) {
  auto next = free_.lower_bound(range.offset);
  if (next != free_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == range.offset) {
      range = {before->first, before->second + range.bytes};
      free_.erase(before);
    }
  }
  if (next != free_.end() && range.offset + range.bytes == next->first) {
    range.bytes += next->second;
    free_.erase(next);
  }
  free_[range.offset] = range.bytes;
}

// Writing to pages that the system cannot allocate would kill the process; this check returns an error instead.
bool SendingArena::HasPages(const Range& range) {
  uint64_t from;
  {
    MutexLock lock(mu_);
    from = pages_end_;
  }
  const uint64_t end = range.offset + range.bytes;
  if (end <= from) return true;
  if (fallocate(fd_, 0, static_cast<off_t>(from), static_cast<off_t>(end - from)) != 0) return false;
  MutexLock lock(mu_);
  pages_end_ = std::max(pages_end_, end);
  return true;
}

bool SendingArena::IsAbandoned() const {
  if (header()->retired.load(std::memory_order_acquire) != 0) return true;
  pollfd gone = {.fd = process_, .events = POLLIN};
  return process_ >= 0 && poll(&gone, 1, 0) > 0;
}

void SendingArena::Trim() {
  MutexLock lock(mu_);
  TakeBack();
  if (!lent_.empty() || pages_end_ == kArenaDataOffset) return;
  fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kArenaDataOffset,
            static_cast<off_t>(pages_end_ - kArenaDataOffset));
  pages_end_ = kArenaDataOffset;
}

}  // namespace weir
