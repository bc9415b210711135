// Records which route the tensors of a step took from other tasks.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/mutex.h"

namespace weir {

// Written only by traced steps. Thread-safe.
class TransferLog {
 public:
  // By edge, which is the key without frame and iteration: a loop's tensors take one route unless their sizes differ.
  // Routes are static strings.
  using Routes = absl::flat_hash_map<std::string, const char*>;

  void Start() { is_on_.store(true, std::memory_order_relaxed); }
  void Add(absl::string_view key, const char* route) {
    if (route == nullptr || !is_on_.load(std::memory_order_relaxed)) return;
    MutexLock lock(mu_);
    routes_[std::string(key.substr(0, key.rfind(';')))] = route;
  }
  Routes routes() const {
    MutexLock lock(mu_);
    return routes_;
  }

 private:
  std::atomic<bool> is_on_{false};
  mutable Mutex mu_;
  Routes routes_ GUARDED_BY(mu_);
};

}  // namespace weir
