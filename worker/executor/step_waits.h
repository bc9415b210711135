// The kernels that a step waits for.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "core/mutex.h"

namespace weir {

class Node;

// Thread-safe.
// - Asynchronous kernels that complete inline are never in it, and synchronous ones only if they may take long: that
//   cost 50 µs or more before, or were not measured yet.
// - Kernels within called functions are not in it: the calling node is.
class StepWaits {
 public:
  struct Wait {
    const Node* node = nullptr;  // lives as long as the step's plan
    absl::Time since;
  };

  void Add(const Node* node) {
    MutexLock lock(mu_);
    Entry& entry = waits_[node];
    if (entry.count++ == 0) entry.since = MonotonicNow();
  }
  void Remove(const Node* node) {
    MutexLock lock(mu_);
    const auto it = waits_.find(node);
    if (it != waits_.end() && --it->second.count == 0) waits_.erase(it);
  }
  std::vector<Wait> Get() const {
    std::vector<Wait> waits;
    MutexLock lock(mu_);
    for (const auto& [node, entry] : waits_) waits.push_back({node, entry.since});
    return waits;
  }

 private:
  struct Entry {
    int count = 0;  // the iterations of a loop that wait
    absl::Time since;
  };
  mutable Mutex mu_;
  absl::flat_hash_map<const Node*, Entry> waits_ GUARDED_BY(mu_);
};

}  // namespace weir
