#include "worker/step_table.h"

#include <utility>

namespace weir {

absl::StatusOr<StepTable::Entry*> StepTable::Find(int64_t step_id) {
  if (has_ended_) return errors::Unavailable("The task is shutting down");
  if (ended_.contains(step_id)) return errors::Aborted("Step ", step_id, " has ended on this worker");
  auto [it, is_new] = steps_.try_emplace(step_id);
  if (is_new) {
    StepRendezvous& rendezvous = it->second.rendezvous;
    rendezvous.local = NewLocalRendezvous();
    rendezvous.log = std::make_shared<TransferLog>();
    rendezvous.remote = rendezvous.local;
  }
  return &it->second;
}

absl::StatusOr<StepRendezvous> StepTable::FindOrCreate(int64_t step_id, const RemoteFactory& remote,
                                                       const void* owner) {
  MutexLock lock(mu_);
  ASSIGN_OR_RETURN(Entry* const entry, Find(step_id));
  if (!entry->has_begun && remote) entry->rendezvous.remote = remote(step_id, entry->rendezvous);
  if (!entry->has_begun) entry->owner = owner;
  entry->has_begun = true;
  return entry->rendezvous;
}

absl::StatusOr<StepRendezvous> StepTable::Await(int64_t step_id) {
  MutexLock lock(mu_);
  ASSIGN_OR_RETURN(Entry* const entry, Find(step_id));
  ++entry->waiting;
  return entry->rendezvous;
}

void StepTable::EndAwait(int64_t step_id) {
  StepRendezvous unused;  // destroyed without the lock
  MutexLock lock(mu_);
  const auto it = steps_.find(step_id);
  if (it == steps_.end() || --it->second.waiting > 0 || it->second.has_begun) return;
  unused = std::move(it->second.rendezvous);
  steps_.erase(it);
}

void StepTable::Cleanup(int64_t step_id) {
  StepRendezvous ended;
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
    ended = std::move(it->second.rendezvous);
    steps_.erase(it);
  }
  ended.remote->StartAbort(MarkDerived(errors::Aborted("Step ", step_id, " was cleaned up")));
}

std::vector<int64_t> StepTable::CleanupOf(const void* owner) {
  std::vector<int64_t> ids;
  {
    MutexLock lock(mu_);
    for (const auto& [id, entry] : steps_) {
      if (entry.has_begun && entry.owner == owner) ids.push_back(id);
    }
  }
  for (const int64_t id : ids) Cleanup(id);
  return ids;
}

void StepTable::End() {
  absl::flat_hash_map<int64_t, Entry> steps;
  {
    MutexLock lock(mu_);
    has_ended_ = true;
    steps.swap(steps_);
  }
  for (auto& [id, entry] : steps) {
    entry.rendezvous.remote->StartAbort(MarkDerived(errors::Unavailable("The task is shutting down")));
  }
}

void StepTable::Abort(int64_t step_id, const absl::Status& status) {
  StepRendezvous rendezvous;
  {
    MutexLock lock(mu_);
    auto it = steps_.find(step_id);
    if (it == steps_.end()) return;
    rendezvous = it->second.rendezvous;
  }
  rendezvous.remote->StartAbort(status);
}

size_t StepTable::size() const {
  MutexLock lock(mu_);
  return steps_.size();
}

}  // namespace weir
