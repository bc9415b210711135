#include "distribute/transport/frames/link_handlers.h"

#include <algorithm>
#include <chrono>

#include "absl/time/clock.h"
#include "core/clock.h"

namespace weir {

LinkHandlers::LinkHandlers(const std::vector<ServerMethod>& methods) {
  for (const LinkMethod& known : kLinkMethods) {
    for (const ServerMethod& method : methods) {
      if (method.path == known.path) handlers_[known.id] = {method.handle, known.computes};
    }
  }
}

const LinkHandlers::Handler* LinkHandlers::Find(uint32_t id) const {
  const auto found = handlers_.find(id);
  return found != handlers_.end() ? &found->second : nullptr;
}

bool LinkHandlers::Enter() {
  MutexLock lock(mu_);
  if (rejects_) return false;
  ++active_;
  return true;
}

void LinkHandlers::Leave() {
  MutexLock lock(mu_);
  if (--active_ == 0) idle_.notify_all();
}

void LinkHandlers::Reject() {
  MutexLock lock(mu_);
  rejects_ = true;
}

void LinkHandlers::Await(absl::Time deadline) {
  MutexLock lock(mu_);
  while (active_ > 0) {
    const absl::Duration left = deadline - MonotonicNow();
    if (left <= absl::ZeroDuration()) return;
    // std::chrono's clock cannot represent the infinite future.
    lock.WaitUntil(idle_, std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(std::min(left, absl::Hours(1))));
  }
}

}  // namespace weir
