// The requests that a master has received, remembered beyond the life of its process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "core/status.h"

namespace weir {

// The newest request ids, in shared memory that outlives the process but not the machine: adding one costs a store to
// memory, no call of the system. A client that sends a step again to the next master can so be told that the earlier
// one may have run it. Thread-safe; nothing blocks.
class RequestLog {
 public:
  static constexpr size_t kCapacity = 8192;  // requests in flight and just answered

  // Continues the log of the journal with this id, or begins one, in /dev/shm. FailedPrecondition if another process
  // uses it.
  static absl::StatusOr<std::unique_ptr<RequestLog>> Open(uint64_t journal_id);
  ~RequestLog();
  RequestLog(const RequestLog&) = delete;

  // False: nothing is known of requests to earlier processes.
  bool continues() const { return continues_; }
  // To be called before a request has effects.
  void Add(int64_t request_id);
  // By an earlier process.
  bool WasReceivedBefore(int64_t request_id) const { return earlier_.count(request_id) > 0; }
  // Removes the log; this process can go on using it.
  void Remove();

  static std::string PathFor(uint64_t journal_id);

 private:
  struct Ring {
    uint64_t format;
    uint64_t journal_id;
    std::atomic<uint64_t> next;
    std::atomic<int64_t> ids[kCapacity];
  };

  RequestLog(std::string path, int fd, Ring* ring) : path_(std::move(path)), fd_(fd), ring_(ring) {}

  const std::string path_;
  const int fd_;
  Ring* const ring_;
  bool continues_ = false;
  absl::flat_hash_set<int64_t> earlier_;  // const after Open
};

}  // namespace weir
