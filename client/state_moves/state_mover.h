// Moves variables between the tasks of a cluster while sessions run.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/state_moves/cluster_state.h"
#include "core/status.h"

namespace weir {

struct StateMoveOptions {
  // A move for which steps would wait longer fails, and changes nothing.
  absl::Duration max_pause = absl::Seconds(5);
  // For tasks to say that their own steps are held back; the holder rejects steps of others.
  absl::Duration hold_timeout = absl::Seconds(1);
  absl::Duration call_timeout = absl::Seconds(10);
};

struct StateMoveReport {
  int variables = 0;     // that had a value
  int64_t bytes = 0;     // of those with a static shape
  absl::Duration pause;  // upper bound of the time for which steps that use them waited
};

// Moves a group of variables to another task, values included; no step fails because of it:
// 1. The registrar publishes the move (MoveState) to all tasks (HoldState): masters hold back steps that use these
//    variables, and wait for those that run.
// 2. The task that has them rejects steps of masters that did not answer.
// 3. A graph copies the values.
// 4. The registrar tells all tasks the new home. Held steps run there; the old values are deleted.
// If a call fails before 4, the variables stay; if this process ends, the registrar cancels the move after a time.
// UNAVAILABLE or DEADLINE_EXCEEDED of step 4 itself: the move was made, or was not, as the cluster's view says.
// `address` is that of any task of the cluster. Blocks. Thread-safe: of moves at the same time all but one fail with
// FAILED_PRECONDITION.
absl::StatusOr<StateMoveReport> MoveVariables(const std::string& address, const ClusterView& view,
                                              const VariableGroup& group, const std::string& task,
                                              const StateMoveOptions& options = {});

// Copies all variables and tables of `task` to `standby`, which stands by for it from then on: masters make each update
// of the task there as well. Steps that change what the task holds wait meanwhile. Like MoveVariables, and
// FAILED_PRECONDITION for a task with variables that functions may change, UNIMPLEMENTED for tables that cannot be
// copied.
absl::StatusOr<StateMoveReport> CopyToStandby(const std::string& address, const ClusterState& state,
                                              const std::string& task, const std::string& standby,
                                              const StateMoveOptions& options = {});

}  // namespace weir
