#include "distribute/membership/cluster_membership.h"

#include <utility>

#include "core/logging.h"

namespace weir {

ClusterMembership::ClusterMembership(std::string task, const ClusterSpec& cluster)
    : task_(std::move(task)),
      snapshot_(std::make_shared<Snapshot>(Snapshot{.view = ViewOf(cluster), .cluster = cluster})) {}

ClusterMembership::ClusterMembership(std::string task, const ClusterView& view, ClusterSpec cluster)
    : task_(std::move(task)),
      snapshot_(std::make_shared<Snapshot>(
          Snapshot{.view = view, .cluster = std::move(cluster), .state = MovedState(view)})) {}

std::shared_ptr<const ClusterMembership::Snapshot> ClusterMembership::Get() const {
  MutexLock lock(mu_);
  return snapshot_;
}

absl::StatusOr<bool> ClusterMembership::Adopt(const ClusterView& view) {
  const std::shared_ptr<const Snapshot> known = Get();
  if (!IsNewerView(view, known->view)) return false;
  auto adopted = std::make_shared<Snapshot>();
  adopted->view = view;
  const Member* const self = FindMember(known->view, task_);
  if (self != nullptr && FindMember(view, task_) == nullptr) {
    Member* const removed = adopted->view.add_member();
    *removed = *self;
    removed->set_state(Member::DRAINING);
  }
  ASSIGN_OR_RETURN(adopted->cluster, ClusterOf(adopted->view, task_));
  adopted->state = MovedState(adopted->view);
  {
    MutexLock lock(mu_);
    if (!IsNewerView(view, snapshot_->view)) return false;
    snapshot_ = adopted;
    version_.fetch_add(1, std::memory_order_release);
  }
  // Moves of variables change views often, and the registrar logs them.
  if (adopted->state.move_epoch() == known->state.move_epoch())
    WEIR_LOG(INFO).With("task", task_).With("epoch", view.epoch()).With("tasks", adopted->cluster.TaskNames().size())
        << "the cluster has changed";
  if (changed_) changed_(*adopted);
  return true;
}

}  // namespace weir
