#include "worker/commit/step_outcomes.h"

namespace weir {

StepOutcomes::Session& StepOutcomes::Find(absl::string_view handle) {
  if (const auto it = by_handle_.find(handle); it != by_handle_.end()) {
    sessions_.splice(sessions_.begin(), sessions_, it->second);
    return sessions_.front();
  }
  if (sessions_.size() == kSessions) {
    by_handle_.erase(sessions_.back().handle);
    sessions_.pop_back();
  }
  sessions_.push_front(Session{.handle = std::string(handle)});
  by_handle_.emplace(sessions_.front().handle, sessions_.begin());
  return sessions_.front();
}

bool StepOutcomes::Decide(absl::string_view handle, int64_t step_id, bool commit) {
  MutexLock lock(mu_);
  Session& session = Find(handle);
  const auto [it, is_new] = session.committed.try_emplace(step_id, commit);
  const bool committed = it->second;
  if (is_new) session.in_order.push_back(step_id);
  if (session.in_order.size() > kSteps) {
    session.committed.erase(session.in_order.front());
    session.in_order.pop_front();
  }
  return committed;
}

}  // namespace weir
