#include "worker/state_guard.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/clock.h"
#include "core/op/attr_value.h"
#include "core/threads/cancellable_sleep.h"
#include "distribute/transport/lost_graph.h"
#include "graph/passes/standby_updates.h"

namespace weir {
namespace {

// Steps end by themselves: nothing announces it.
constexpr absl::Duration kPoll = absl::Milliseconds(1);

}  // namespace

void StateUses::Add(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    std::string standby_for;
    if (const tensorflow::AttrValue* const attr = FindAttr(node->def(), kStandbyForAttr)) standby_for = attr->s();
    if (std::optional<StateKey> key = ReplicatedKeyOf(*node)) {
      Access& access = accesses_.emplace_back(Access{*std::move(key), standby_for, {}});
      if (!StateKeyOf(*node)) access.node = node->def();
    }
    if (std::optional<StateKey> key = StateKeyOf(*node)) {
      uses_.push_back(DescribeState(*key, *node));
      keys_.push_back(*std::move(key));
    }
    if (standby_for.empty() && ChangesReplicatedState(*node)) AddUpdate(*node);
  }
}

void StateUses::AddUpdate(const Node& node) {
  const tensorflow::AttrValue* const attr = FindAttr(node.def(), kStandbysAttr);
  std::vector<std::string> standbys;
  if (attr != nullptr) standbys.assign(attr->list().s().begin(), attr->list().s().end());
  if (!std::exchange(updates_, true)) {
    standbys_ = std::move(standbys);
    return;
  }
  const auto is_new = [&](const std::string& known) { return absl::c_find(standbys, known) == standbys.end(); };
  standbys_.erase(std::remove_if(standbys_.begin(), standbys_.end(), is_new), standbys_.end());
}

void StateGuard::Add(const std::shared_ptr<StateUses>& uses) {
  if (membership_ == nullptr || uses->accesses_.empty()) return;
  MutexLock lock(mu_);
  for (size_t i = 0; i < uses->keys_.size(); ++i) known_.try_emplace(uses->keys_[i], uses->uses_[i]);
  for (const StateUses::Access& access : uses->accesses_) {
    if (!access.node.op().empty()) known_tables_.try_emplace(access.key, access.node);
  }
  if (uses->copies_) return;
  all_.erase(std::remove_if(all_.begin(), all_.end(), [](const auto& known) { return known.expired(); }), all_.end());
  all_.push_back(uses);
  uses->epoch_ = membership_->Get()->view.epoch();
}

std::vector<StateUse> StateGuard::Known() const {
  std::vector<StateUse> known;
  MutexLock lock(mu_);
  for (const auto& [key, use] : known_) known.push_back(use);
  return known;
}

std::vector<HeldTable> StateGuard::KnownTables() const {
  std::vector<HeldTable> tables;
  MutexLock lock(mu_);
  for (const auto& [key, node] : known_tables_) {
    HeldTable& table = tables.emplace_back();
    *table.mutable_state() = ToStateName(key);
    *table.mutable_node() = node;
  }
  return tables;
}

bool StateGuard::Holds(const StateKey& key) const {
  return membership_ == nullptr || membership_->Get()->state.HolderOf(key) == task_;
}

absl::Status StateGuard::Check(const StateUses& uses, const MovedState& state) const {
  const bool is_fenced = state.move_epoch() != 0 && state.move_epoch() == fenced_move_;
  for (const auto& [key, standby_for, node] : uses.accesses_) {
    const std::string home = state.HolderOf(key);
    if (!standby_for.empty()) {
      if (home == standby_for && state.StandsBy(task_, home)) continue;
      return GraphIsStale(absl::StrCat("variable '", key.name, "' of ", key.device, " is on ", home, ", and ", task_,
                                       " does not stand by for that"));
    }
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
  return CheckStandbys(uses, state);
}

absl::Status StateGuard::CheckStandbys(const StateUses& uses, const MovedState& state) const {
  const auto updates = [&](const std::string& standby) { return absl::c_linear_search(uses.standbys_, standby); };
  for (const Standby& entry : state.StandbysOf(task_)) {
    if (entry.task_incarnation() != incarnation_) {
      return GraphIsStale(absl::StrCat(task_, " has restarted, and lost what it held: ", entry.standby(),
                                       ", its standby, is about to take over"));
    }
    if (uses.updates_ && !updates(entry.standby())) {
      return GraphIsStale(
          absl::StrCat("the graph makes its updates on ", task_, ", but not on ", entry.standby(), ", its standby"));
    }
  }
  // A master whose graph has the new standby knows that the copy has ended, perhaps before this task does.
  const bool is_fenced = state.move_epoch() != 0 && state.move_epoch() == fenced_move_;
  if (is_fenced && state.copied_task() == task_ && uses.updates_ && !updates(state.new_standby())) {
    return GraphIsStale(absl::StrCat("the state of ", task_, " is being copied to ", state.new_standby()));
  }
  return absl::OkStatus();
}

bool StateGuard::IsUsedBy(const StateUses& uses, const MovedState& state) const {
  if (state.copied_task() == task_) return uses.updates_;
  return std::any_of(uses.keys_.begin(), uses.keys_.end(), [&](const StateKey& key) { return state.IsMoving(key); });
}

bool StateGuard::IsReplaced(const std::string& task) const {
  return membership_ != nullptr && !membership_->Get()->state.SuccessorOf(task).empty();
}

bool StateGuard::HasLostStandby(const std::string& standby) const {
  if (membership_ == nullptr) return false;
  const std::shared_ptr<const ClusterMembership::Snapshot> known = membership_->Get();
  return !known->state.StandsBy(standby, task_) && known->state.SuccessorOf(task_).empty();
}

absl::StatusOr<std::shared_ptr<void>> StateGuard::Enter(const std::shared_ptr<StateUses>& uses) const {
  if (membership_ == nullptr || uses->accesses_.empty() || uses->copies_) return nullptr;
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
      if (uses == nullptr || !IsUsedBy(*uses, known->state)) continue;
      used = uses->accesses_.front().key.name;
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
  if (seen_standbys_ == state.standby_epoch()) return away;
  seen_standbys_ = state.standby_epoch();
  for (const auto& [key, use] : known_) {
    const std::string home = state.HolderOf(key);
    if (home != task_ && state.NextHomeOf(key) != task_ && !state.StandsBy(task_, home)) away.push_back(key);
  }
  for (const auto& [key, node] : known_tables_) {
    const std::string home = state.HolderOf(key);
    if (home != task_ && !state.StandsBy(task_, home)) away.push_back(key);
  }
  return away;
}

}  // namespace weir
