// Detects duplicate requests.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "core/mutex.h"
#include "core/status.h"

namespace weir {

// Remembers the last `capacity` request ids of methods that must not run twice: gRPC may resend a request by itself,
// and the second RecvTensor would wait indefinitely for a tensor that the first has taken. Thread-safe.
class RecentRequestIds {
 public:
  explicit RecentRequestIds(size_t capacity = 65536) : capacity_(capacity) {}

  // Aborted, with the method's name, if `request_id` was seen before. 0 (a client without ids) always passes.
  absl::Status TrackUnique(int64_t request_id, absl::string_view method);

 private:
  const size_t capacity_;
  Mutex mu_;
  std::vector<int64_t> ring_ GUARDED_BY(mu_);
  size_t next_ GUARDED_BY(mu_) = 0;
  absl::flat_hash_set<int64_t> seen_ GUARDED_BY(mu_);
};

// Makes ids that other clients of a server are unlikely to make. Thread-safe. Never returns 0.
class RequestIdSource {
 public:
  RequestIdSource();
  int64_t Next();

 private:
  std::atomic<uint64_t> next_;
};

}  // namespace weir
