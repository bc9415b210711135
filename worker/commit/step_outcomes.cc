#include "worker/commit/step_outcomes.h"

#include <algorithm>
#include <iterator>

namespace weir {
namespace {

absl::Status IsForgotten(absl::string_view session, int64_t step_id) {
  return errors::FailedPrecondition("The outcome of step ", step_id, " of session ", session,
                                    " is no longer known: many steps were decided since");
}

}  // namespace

bool IdRanges::Contains(int64_t id) const {
  const auto after = last_of_.upper_bound(id);
  return after != last_of_.begin() && std::prev(after)->second >= id;
}

void IdRanges::Add(int64_t id) {
  if (Contains(id)) return;
  last_of_.emplace(id, id);
  if (last_of_.size() <= kRanges) return;
  auto closest = last_of_.begin();
  for (auto it = last_of_.begin(); std::next(it) != last_of_.end(); ++it) {
    const auto gap = [](auto range) {
      return static_cast<uint64_t>(std::next(range)->first) - static_cast<uint64_t>(range->second);
    };
    if (gap(it) < gap(closest)) closest = it;
  }
  closest->second = std::next(closest)->second;
  last_of_.erase(std::next(closest));
}

void StepOutcomes::Open(absl::string_view handle) {
  MutexLock lock(mu_);
  std::unique_ptr<Session>& session = sessions_[handle];
  if (session == nullptr) session = std::make_unique<Session>();
  if (session->is_open) return;
  session->is_open = true;
  closed_.erase(std::find(closed_.begin(), closed_.end(), handle));
}

void StepOutcomes::Close(absl::string_view handle) {
  MutexLock lock(mu_);
  const auto session = sessions_.find(handle);
  if (session == sessions_.end() || !session->second->is_open) return;
  session->second->is_open = false;
  closed_.emplace_back(handle);
  if (closed_.size() <= limits_.closed_sessions) return;
  sessions_.erase(closed_.front());
  closed_.pop_front();
}

absl::StatusOr<StepOutcomes::Session*> StepOutcomes::Find(absl::string_view handle) const {
  const auto session = sessions_.find(handle);
  if (session != sessions_.end()) return session->second.get();
  return errors::NotFound("Session ", handle, " has no steps here, or ended long ago");
}

absl::StatusOr<StepOutcomes::Outcome> StepOutcomes::Decide(absl::string_view handle, int64_t step_id, Outcome outcome,
                                                           bool* is_new) {
  ASSIGN_OR_RETURN(Session* const session, Find(handle));
  if (session->forgotten.Contains(step_id)) return IsForgotten(handle, step_id);
  const auto decided = session->outcomes.try_emplace(step_id, outcome);
  *is_new = decided.second;
  if (!*is_new) return decided.first->second;
  session->in_order.push_back(step_id);
  if (session->in_order.size() > limits_.steps) {
    session->forgotten.Add(session->in_order.front());
    session->outcomes.erase(session->in_order.front());
    session->in_order.pop_front();
  }
  return outcome;
}

absl::Status StepOutcomes::Commit(absl::string_view handle, int64_t step_id) {
  MutexLock lock(mu_);
  bool is_new = false;
  ASSIGN_OR_RETURN(const Outcome outcome, Decide(handle, step_id, Outcome::kCommitted, &is_new));
  if (outcome == Outcome::kAborted) return errors::Aborted("Step ", step_id, " was aborted before its updates");
  if (outcome == Outcome::kInDoubt) return errors::Internal("Another task decides about step ", step_id);
  if (!is_new) return errors::AlreadyExists("Step ", step_id, " is committed already: it runs a second time");
  return absl::OkStatus();
}

absl::StatusOr<bool> StepOutcomes::IsCommittedElseAbort(absl::string_view handle, int64_t step_id) {
  MutexLock lock(mu_);
  bool is_new = false;
  ASSIGN_OR_RETURN(const Outcome outcome, Decide(handle, step_id, Outcome::kAborted, &is_new));
  if (outcome != Outcome::kInDoubt) return outcome == Outcome::kCommitted;
  return errors::Unavailable("The outcome of step ", step_id, " of session ", handle,
                             " is in doubt until the task's standby answers or is removed");
}

absl::Status StepOutcomes::Doubt(absl::string_view handle, int64_t step_id) {
  MutexLock lock(mu_);
  bool is_new = false;
  ASSIGN_OR_RETURN(const Outcome outcome, Decide(handle, step_id, Outcome::kInDoubt, &is_new));
  if (outcome == Outcome::kAborted) return errors::Aborted("Step ", step_id, " was aborted before its updates");
  if (!is_new) return errors::AlreadyExists("Step ", step_id, " is known already: it runs a second time");
  return absl::OkStatus();
}

void StepOutcomes::Resolve(absl::string_view handle, int64_t step_id, bool commit) {
  MutexLock lock(mu_);
  const absl::StatusOr<Session*> session = Find(handle);
  if (!session.ok()) return;
  const auto outcome = (*session)->outcomes.find(step_id);
  if (outcome == (*session)->outcomes.end() || outcome->second != Outcome::kInDoubt) return;
  outcome->second = commit ? Outcome::kCommitted : Outcome::kAborted;
}

absl::Status StepOutcomes::CheckNotAborted(absl::string_view handle, int64_t step_id) const {
  MutexLock lock(mu_);
  ASSIGN_OR_RETURN(const Session* const session, Find(handle));
  if (session->forgotten.Contains(step_id)) return IsForgotten(handle, step_id);
  const auto decided = session->outcomes.find(step_id);
  if (decided == session->outcomes.end() || decided->second != Outcome::kAborted) return absl::OkStatus();
  return errors::Aborted("Step ", step_id, " was aborted");
}

}  // namespace weir
