// Keeps steps off variables that have moved to another task, or are about to.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/mutex.h"
#include "core/status.h"
#include "distribute/membership/cluster_membership.h"
#include "graph/graph.h"
#include "graph/state_key.h"

namespace weir {

// The variables that a registered graph uses on its task.
class StateUses {
 public:
  // Adds those of a graph whose nodes are assigned to devices. Not thread-safe.
  void Add(const Graph& graph);
  // The graph copies variables between tasks (graph/state_homes.h), and uses them wherever they are.
  void SetMoves() { moves_ = true; }

 private:
  friend class StateGuard;
  std::vector<StateKey> keys_;
  bool moves_ = false;
  std::atomic<int> running_{0};               // steps
  std::atomic<int64_t> checked_version_{-1};  // of the cluster, in which all are here and none moves
};

// Thread-safe.
class StateGuard {
 public:
  // `membership` outlives it and what Enter returns; null: nothing moves.
  StateGuard(std::string task, const ClusterMembership* membership) : task_(std::move(task)), membership_(membership) {}

  // `uses` must be added before their first step.
  void Add(const std::shared_ptr<StateUses>& uses);
  // A step begins, and runs as long as the result exists, which may be null. ABORTED, naming the variable and the task
  // that has it, if one of them is not here, or is on its way.
  absl::StatusOr<std::shared_ptr<void>> Enter(const std::shared_ptr<StateUses>& uses) const;
  // Enter refuses steps that use variables of the move in progress from now on, until it ends. Blocks until none runs;
  // ABORTED names a variable that is still in use at the deadline.
  absl::Status Fence(absl::Time deadline);
  // The variables that were here, or might have been, and are on other tasks since the last call; those too whose move
  // to this task was cancelled.
  std::vector<StateKey> MovedAway(const MovedState& state);

 private:
  absl::Status Check(const StateUses& uses, const MovedState& state) const;

  const std::string task_;
  const ClusterMembership* const membership_;
  std::atomic<int64_t> fenced_move_{0};  // by its epoch
  Mutex mu_;
  int64_t seen_epoch_ GUARDED_BY(mu_) = 0;          // of MovedAway
  std::vector<StateKey> arriving_ GUARDED_BY(mu_);  // by the move in progress at the last call of MovedAway
  std::vector<std::weak_ptr<StateUses>> all_ GUARDED_BY(mu_);
};

}  // namespace weir
