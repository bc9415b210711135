// The tasks of a cluster, as one of them knows them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/mutex.h"
#include "core/status.h"
#include "distribute/cluster/cluster_spec.h"
#include "distribute/membership/cluster_view.h"
#include "distribute/membership/moved_state.h"

namespace weir {

// Holds the newest view that has been adopted. Thread-safe.
class ClusterMembership {
 public:
  // A view, and the tasks that serve in it. Immutable.
  struct Snapshot {
    ClusterView view;
    ClusterSpec cluster;
    MovedState state;
  };

  // Of `task`, which may be empty. The cluster that it was started with.
  ClusterMembership(std::string task, const ClusterSpec& cluster);
  // Of a task that joins: `cluster` is ClusterOf(view, task).
  ClusterMembership(std::string task, const ClusterView& view, ClusterSpec cluster);
  ClusterMembership(const ClusterMembership&) = delete;

  const std::string& task() const { return task_; }
  std::shared_ptr<const Snapshot> Get() const;
  // Grows with each adopted view. Cheap.
  int64_t version() const { return version_.load(std::memory_order_acquire); }
  // Adopts the view if it is newer and of the same cluster, and says whether it is. InvalidArgument as ClusterOf. A
  // view without this task is adopted with this task in it, draining: it has been removed.
  absl::StatusOr<bool> Adopt(const ClusterView& view);
  // `changed` runs after each adoption, on the thread that adopts; several may run at once, also with older snapshots.
  // Called once, before any adoption by another thread.
  void SetObserver(std::function<void(const Snapshot&)> changed) { changed_ = std::move(changed); }

 private:
  const std::string task_;
  mutable Mutex mu_;
  std::shared_ptr<const Snapshot> snapshot_ GUARDED_BY(mu_);
  std::atomic<int64_t> version_{0};
  std::function<void(const Snapshot&)> changed_;
};

}  // namespace weir
