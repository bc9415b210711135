// The sender's view of a receiver's shared memory.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "core/mutex.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "core/threads/timer_queue.h"
#include "distribute/transport/transport_metrics.h"
#include "weir/shared_memory.pb.h"

namespace weir {

struct ArenaHeader;

// Allocates blocks in it. Thread-safe.
class SendingArena {
 public:
  // PermissionDenied or InvalidArgument if the memory cannot be reached or does not match the offer. AlreadyExists if
  // another sender has claimed it: only that sender knows which blocks are free.
  static absl::StatusOr<std::shared_ptr<SendingArena>> Open(const SharedMemoryOffer& offer);
  ~SendingArena();
  SendingArena(const SendingArena&) = delete;

  // Copies `tensor`, which is plain and not empty, into the memory. False if there is no room.
  bool Write(const Tensor& tensor, SharedMemoryReply* reply);
  // True if the memory will not be used again.
  bool IsAbandoned() const;
  // Returns pages to the system that hold no tensor of the receiver.
  void Trim();

 private:
  struct Range {
    uint64_t offset = 0, bytes = 0;
  };
  SendingArena(int fd, int process, char* base, size_t bytes);
  ArenaHeader* header() const;
  bool Allocate(uint64_t bytes, uint32_t* block, Range* range);
  void TakeBack() REQUIRES(mu_);
  void Free(Range range) REQUIRES(mu_);
  bool HasPages(const Range& range);

  const int fd_;
  const int process_;  // the receiver's, from pidfd_open
  char* const base_;
  const size_t bytes_;
  Mutex mu_;
  std::map<uint64_t, uint64_t> free_ GUARDED_BY(mu_);  // size by offset; neighbouring ranges are merged
  std::vector<std::pair<uint32_t, Range>> lent_ GUARDED_BY(mu_);
  std::vector<uint32_t> free_blocks_ GUARDED_BY(mu_);
  uint64_t pages_end_ GUARDED_BY(mu_);  // pages are allocated below it
};

// All memory that receivers have offered to this process. Thread-safe.
class SharedMemorySender {
 public:
  // `timers`, and `metrics` unless it is null, outlive this object.
  explicit SharedMemorySender(TimerQueue* timers, TransportMetrics* metrics = nullptr)
      : timers_(timers), metrics_(metrics) {}
  ~SharedMemorySender();

  // Messages are as fast below this size.
  static constexpr int64_t kMinBytes = 64 << 10;
  // Writes a tensor into the memory that `transport_options` offers, a serialised Any with a SharedMemoryOffer. Returns
  // a serialised Any with the SharedMemoryReply, or "" if there is no offer. Sets `*written` if the memory holds the
  // tensor.
  std::string Write(const std::string& transport_options, const Tensor& tensor, bool* written);

 private:
  struct Entry {
    std::shared_ptr<SendingArena> arena;  // nullptr: it could not be opened, because of:
    SharedMemoryReply::Outcome rejection = SharedMemoryReply::UNREACHABLE;
    absl::Time last_used;
  };

  Entry Find(const SharedMemoryOffer& offer);
  // Releases memory of receivers that are gone, and pages that were not used for a while.
  void Sweep();
  void ScheduleSweep() REQUIRES(mu_);

  TimerQueue* const timers_;
  TransportMetrics* const metrics_;
  Mutex mu_;
  absl::flat_hash_map<std::string, Entry> arenas_ GUARDED_BY(mu_);  // by token
  TimerQueue::Token sweep_ GUARDED_BY(mu_);
  bool sweep_is_due_ GUARDED_BY(mu_) = false;
  bool closed_ GUARDED_BY(mu_) = false;
};

}  // namespace weir
