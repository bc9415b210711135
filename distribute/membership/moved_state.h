// The task that holds each variable that has been moved, and the move in progress.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/state_key.h"
#include "weir/membership.pb.h"

namespace weir {

StateKey ToStateKey(const StateName& name);
StateName ToStateName(const StateKey& key);
// Of a node that has this key (StateKeyOf).
StateUse DescribeState(const StateKey& key, const Node& node);

// What a view of the cluster says. Immutable.
class MovedState {
 public:
  MovedState() = default;
  explicit MovedState(const ClusterView& view);

  // True if nothing has ever moved, and nothing does.
  bool empty() const { return homes_.empty() && moving_.empty() && successors_.empty() && standbys_.empty(); }
  // The task that holds it, or on which it is created; empty: the one where graphs place it.
  std::string HomeOf(const StateKey& key) const;
  // The task that holds it, or on which it is created.
  std::string HolderOf(const StateKey& key) const;
  // The task on which nodes that name this one run; empty: itself.
  std::string SuccessorOf(const std::string& task) const;
  const absl::flat_hash_map<std::string, std::string>& successors() const { return successors_; }
  // The epoch of the view that gave it its home; 0: it has never moved.
  int64_t EpochOf(const StateKey& key) const;
  // Calls visit(key, task, epoch) for each home.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [key, home] : homes_) visit(key, home.task, home.epoch);
  }
  // Calls visit(key, task) for each variable of the move in progress.
  template <typename Visit>
  void ForEachMove(Visit visit) const {
    for (const auto& [key, home] : moving_) visit(key, home.task);
  }
  // The newest of them, and of views that set a successor or changed standbys.
  int64_t epoch() const { return epoch_; }
  bool IsMoving(const StateKey& key) const { return moving_.contains(key); }
  // The task of which all state is being copied to a new standby, and that; empty: there is no such copy in progress.
  const std::string& copied_task() const { return copied_.task(); }
  const std::string& new_standby() const { return copied_.standby(); }
  // The standbys of the task, in the order in which they take over.
  const std::vector<Standby>& StandbysOf(const std::string& task) const;
  // Whether `standby` has copies of what `task` holds, or is about to get them.
  bool StandsBy(const std::string& standby, const std::string& task) const;
  // Whether it stands by for a task, or has standbys.
  bool HasStandbyRelation(const std::string& task) const { return related_.contains(task); }
  // Whether its standby took over from the task in the newest view that has lost one.
  bool IsLost(const std::string& task) const { return lost_.contains(task); }
  // Of the view that last changed standbys because a task was lost.
  int64_t loss_epoch() const { return loss_epoch_; }
  // Of the view that last changed standbys.
  int64_t standby_epoch() const { return standby_epoch_; }
  // The task that it is being moved to; empty: it is not being moved.
  std::string NextHomeOf(const StateKey& key) const;
  // Of the move in progress; 0: there is none.
  int64_t move_epoch() const { return move_epoch_; }

 private:
  struct Home {
    std::string task;
    int64_t epoch = 0;
  };
  absl::flat_hash_map<StateKey, Home> homes_, moving_;
  absl::flat_hash_map<std::string, std::string> successors_;
  absl::flat_hash_map<std::string, std::vector<Standby>> standbys_;  // by task
  absl::flat_hash_set<std::string> lost_;
  absl::flat_hash_set<std::string> related_;  // the tasks and their standbys
  Standby copied_;
  int64_t epoch_ = 0, move_epoch_ = 0, standby_epoch_ = 0, loss_epoch_ = 0;
};

}  // namespace weir
