#include "worker/state_guard.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/threads/cancellable_sleep.h"
#include "distribute/transport/lost_graph.h"

namespace weir {
namespace {

// Steps end by themselves: nothing announces it.
constexpr absl::Duration kPoll = absl::Milliseconds(1);

}  // namespace

void StateUses::Add(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    std::optional<StateKey> key = StateKeyOf(*node);
    if (!key) continue;
    uses_.push_back(DescribeState(*key, *node));
    keys_.push_back(*std::move(key));
  }
}

void StateGuard::Add(const std::shared_ptr<StateUses>& uses) {
  if (membership_ == nullptr || uses->keys_.empty() || uses->copies_) return;
  MutexLock lock(mu_);
  all_.erase(std::remove_if(all_.begin(), all_.end(), [](const auto& known) { return known.expired(); }), all_.end());
  all_.push_back(uses);
  uses->epoch_ = membership_->Get()->view.epoch();
  for (size_t i = 0; i < uses->keys_.size(); ++i) known_.try_emplace(uses->keys_[i], uses->uses_[i]);
}

std::vector<StateUse> StateGuard::Known() const {
  std::vector<StateUse> known;
  MutexLock lock(mu_);
  for (const auto& [key, use] : known_) known.push_back(use);
  return known;
}

absl::Status StateGuard::Check(const StateUses& uses, const MovedState& state) const {
  const bool is_fenced = state.move_epoch() != 0 && state.move_epoch() == fenced_move_;
  for (const StateKey& key : uses.keys_) {
    const std::string home = state.HolderOf(key);
    // A master that prepared the graph during the move, or later, knows that it has ended, perhaps before this task
    // does.
    if (home != task_ && state.NextHomeOf(key) == task_ && uses.epoch_ >= state.move_epoch()) continue;
    if (home != task_) {
      return GraphIsStale(
          absl::StrCat("variable '", key.name, "' of ", key.device, " is on ", home, ", not on ", task_));
    }
    if (is_fenced && state.IsMoving(key)) {
      return GraphIsStale(
          absl::StrCat("variable '", key.name, "' of ", key.device, " is being moved away from ", task_));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<void>> StateGuard::Enter(const std::shared_ptr<StateUses>& uses) const {
  if (membership_ == nullptr || uses->keys_.empty() || uses->copies_) return nullptr;
  uses->running_.fetch_add(1);
  std::shared_ptr<void> running(uses.get(), [uses](void*) { uses->running_.fetch_sub(1); });
  // Either this sees the fence, or the fence sees this step.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const int64_t version = membership_->version();
  if (uses->checked_version_.load(std::memory_order_relaxed) == version) return running;
  const std::shared_ptr<const ClusterMembership::Snapshot> known = membership_->Get();
  RETURN_IF_ERROR(Check(*uses, known->state));
  if (known->state.move_epoch() == 0) uses->checked_version_.store(version, std::memory_order_relaxed);
  return running;
}

absl::Status StateGuard::Fence(absl::Time deadline) {
  if (membership_ == nullptr) return absl::OkStatus();
  const std::shared_ptr<const ClusterMembership::Snapshot> known = membership_->Get();
  if (known->state.move_epoch() == 0) {
    return errors::FailedPrecondition("No variables are being moved, as far as ", task_, " knows");
  }
  fenced_move_ = known->state.move_epoch();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::vector<std::shared_ptr<StateUses>> users;
  std::string used;
  {
    MutexLock lock(mu_);
    for (const auto& weak : all_) {
      std::shared_ptr<StateUses> uses = weak.lock();
      if (uses == nullptr) continue;
      const auto key = std::find_if(uses->keys_.begin(), uses->keys_.end(),
                                    [&](const StateKey& key) { return known->state.IsMoving(key); });
      if (key == uses->keys_.end()) continue;
      used = key->name;
      users.push_back(std::move(uses));
    }
  }
  while (std::any_of(users.begin(), users.end(), [](const auto& uses) { return uses->running_.load() > 0; })) {
    const absl::Time next = MonotonicNow() + kPoll;
    if (next > deadline) {
      return errors::Aborted("Variable '", used, "' and its group cannot be moved: steps of ", task_, " still use it");
    }
    RETURN_IF_ERROR(SleepUntil(next, nullptr));
  }
  return absl::OkStatus();
}

std::vector<StateKey> StateGuard::MovedAway(const ClusterMembership::Snapshot& cluster) {
  const MovedState& state = cluster.state;
  std::vector<StateKey> away;
  MutexLock lock(mu_);
  if (cluster.view.epoch() < seen_view_) return away;
  seen_view_ = cluster.view.epoch();
  for (StateKey& key : arriving_) {
    if (state.HolderOf(key) != task_ && state.NextHomeOf(key) != task_) away.push_back(std::move(key));
  }
  arriving_.clear();
  state.ForEachMove([&](const StateKey& key, const std::string& task) {
    if (task == task_) arriving_.push_back(key);
  });
  state.ForEach([&](const StateKey& key, const std::string& task, int64_t epoch) {
    if (epoch > seen_epoch_ && task != task_) away.push_back(key);
  });
  seen_epoch_ = std::max(seen_epoch_, state.epoch());
  return away;
}

}  // namespace weir
