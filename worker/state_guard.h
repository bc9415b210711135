// Keeps steps off variables that have moved to another task, or are about to.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "core/mutex.h"
#include "core/status.h"
#include "distribute/membership/cluster_membership.h"
#include "graph/graph.h"
#include "graph/state_key.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {

// The variables and tables that a registered graph uses on its task.
class StateUses {
 public:
  // Adds those of a graph whose nodes are assigned to devices. Not thread-safe.
  void Add(const Graph& graph);
  // The graph copies variables between tasks (graph/state_homes.h), and uses them wherever they are.
  void SetCopies() { copies_ = true; }

 private:
  friend class StateGuard;
  void AddUpdate(const Node& node);

  // A variable, as the task's own or as that of the task for which this one stands by.
  struct Access {
    StateKey key;
    std::string standby_for;   // empty: its own
    tensorflow::NodeDef node;  // of a table
  };
  std::vector<StateUse> uses_;
  std::vector<StateKey> keys_;         // of `uses_`; of variables that the task has as its own
  std::vector<Access> accesses_;       // those, the task's copies as a standby, and tables
  bool updates_ = false;               // what the task has as its own
  std::vector<std::string> standbys_;  // that make the same updates
  bool copies_ = false;
  int64_t epoch_ = 0;                         // of the view when the graph was registered
  std::atomic<int> running_{0};               // steps
  std::atomic<int64_t> checked_version_{-1};  // of the cluster, in which all are here and none moves
};

// Thread-safe.
class StateGuard {
 public:
  // `membership` outlives it and what Enter returns; null: nothing moves. `incarnation` is that of the process.
  StateGuard(std::string task, uint64_t incarnation, const ClusterMembership* membership)
      : task_(std::move(task)), incarnation_(incarnation), membership_(membership) {}

  // `uses` must be added before their first step.
  void Add(const std::shared_ptr<StateUses>& uses);
  // A step begins, and runs as long as the result exists, which may be null. ABORTED, naming the variable and the task
  // that has it, if one of them is not here, or is being moved away; and naming the standby if the graph changes what
  // the task holds and does not change it there as well.
  absl::StatusOr<std::shared_ptr<void>> Enter(const std::shared_ptr<StateUses>& uses) const;
  // Enter rejects steps that use variables of the move in progress from now on, until it ends. Blocks until none runs;
  // ABORTED names a variable that is still in use at the deadline.
  absl::Status Fence(absl::Time deadline);
  // Variables to delete: those that moved to other tasks since the last call, those whose move to this task was
  // cancelled, and copies that it kept as a standby. Empty for a view that is older than the last one.
  std::vector<StateKey> MovedAway(const ClusterMembership::Snapshot& cluster);
  // The variables that graphs have used here, also of sessions that have ended.
  std::vector<StateUse> Known() const;
  // The same of tables.
  std::vector<HeldTable> KnownTables() const;
  // Whether the task holds what it names as its own.
  bool Holds(const StateKey& key) const;
  // Whether another task has taken over from that one.
  bool IsReplaced(const std::string& task) const;
  // Whether `standby` does not stand by for this task any more and has not taken over from it.
  bool HasLostStandby(const std::string& standby) const;

 private:
  absl::Status Check(const StateUses& uses, const MovedState& state) const;
  absl::Status CheckStandbys(const StateUses& uses, const MovedState& state) const;
  bool IsUsedBy(const StateUses& uses, const MovedState& state) const;

  const std::string task_;
  const uint64_t incarnation_;
  const ClusterMembership* const membership_;
  std::atomic<int64_t> fenced_move_{0};  // by its epoch
  mutable Mutex mu_;
  int64_t seen_view_ GUARDED_BY(mu_) = -1;          // of MovedAway, by its epoch
  int64_t seen_epoch_ GUARDED_BY(mu_) = 0;          // the newest home in it
  int64_t seen_standbys_ GUARDED_BY(mu_) = 0;       // standby_epoch in it
  std::vector<StateKey> arriving_ GUARDED_BY(mu_);  // by the move in progress in it
  std::vector<std::weak_ptr<StateUses>> all_ GUARDED_BY(mu_);
  absl::flat_hash_map<StateKey, StateUse> known_ GUARDED_BY(mu_);
  absl::flat_hash_map<StateKey, tensorflow::NodeDef> known_tables_ GUARDED_BY(mu_);
};

}  // namespace weir
