#include "distribute/transport/recent_request_ids.h"
#include "core/random_bits.h"

namespace weir {

absl::Status RecentRequestIds::TrackUnique(int64_t request_id, absl::string_view method) {
  if (request_id == 0) return absl::OkStatus();
  MutexLock lock(mu_);
  if (!seen_.insert(request_id).second) {
    return errors::Aborted("The same ", method, " request was received twice (request_id ", request_id,
                           "): it is not run again");
  }
  if (ring_.size() < capacity_) {
    ring_.push_back(request_id);
    return absl::OkStatus();
  }
  seen_.erase(ring_[next_]);
  ring_[next_] = request_id;
  next_ = (next_ + 1) % capacity_;
  return absl::OkStatus();
}

RequestIdSource::RequestIdSource() : next_(RandomBits()) {}

int64_t RequestIdSource::Next() {
  // An odd stride visits every value once, and separates clients' sequences.
  for (;;) {
    const uint64_t id = next_.fetch_add(0x9e3779b97f4a7c15u, std::memory_order_relaxed) >> 1;
    if (id != 0) return static_cast<int64_t>(id);
  }
}

}  // namespace weir
