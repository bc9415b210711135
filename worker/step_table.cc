#include "worker/step_table.h"

#include <utility>

namespace weir {

absl::StatusOr<StepMeeting> StepTable::FindOrCreate(int64_t step_id) {
  MutexLock lock(mu_);
  if (ended_.contains(step_id)) return errors::Aborted("Step ", step_id, " has ended on this worker");
  auto [it, is_new] = steps_.try_emplace(step_id);
  if (is_new) {
    it->second.local = NewLocalRendezvous();
    it->second.log = std::make_shared<TransferLog>();
    it->second.remote = remote_ ? remote_(step_id, it->second) : it->second.local;
  }
  return it->second;
}

void StepTable::Cleanup(int64_t step_id) {
  StepMeeting ended;
  {
    MutexLock lock(mu_);
    if (!ended_.insert(step_id).second) return;
    ended_in_order_.push_back(step_id);
    if (ended_in_order_.size() > kRemembered) {
      ended_.erase(ended_in_order_.front());
      ended_in_order_.pop_front();
    }
    auto it = steps_.find(step_id);
    if (it == steps_.end()) return;
    ended = std::move(it->second);
    steps_.erase(it);
  }
  ended.remote->StartAbort(MarkDerived(errors::Aborted("Step ", step_id, " was cleaned up")));
}

void StepTable::Abort(int64_t step_id, const absl::Status& status) {
  StepMeeting meeting;
  {
    MutexLock lock(mu_);
    auto it = steps_.find(step_id);
    if (it == steps_.end()) return;
    meeting = it->second;
  }
  meeting.remote->StartAbort(status);
}

size_t StepTable::size() const {
  MutexLock lock(mu_);
  return steps_.size();
}

}  // namespace weir
