// By what way the tensors of a step have come from another task.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/mutex.h"

namespace weir {

// For steps that are traced; others write nothing. Thread-safe.
class TransferLog {
 public:
  // By edge, the key without frame and iteration: a loop's tensors come one way, but for their sizes. Ways are words
  // that live for ever.
  using Ways = absl::flat_hash_map<std::string, const char*>;

  void Start() { is_on_.store(true, std::memory_order_relaxed); }
  void Add(absl::string_view key, const char* way) {
    if (way == nullptr || !is_on_.load(std::memory_order_relaxed)) return;
    MutexLock lock(mu_);
    ways_[std::string(key.substr(0, key.rfind(';')))] = way;
  }
  Ways ways() const {
    MutexLock lock(mu_);
    return ways_;
  }

 private:
  std::atomic<bool> is_on_{false};
  mutable Mutex mu_;
  Ways ways_ GUARDED_BY(mu_);
};

}  // namespace weir
