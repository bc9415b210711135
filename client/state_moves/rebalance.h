// Spreads variables over the tasks of a job.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/state_moves/cluster_state.h"
#include "client/state_moves/state_mover.h"
#include "core/status.h"
#include "core/threads/cancellation.h"

namespace weir {

struct PlannedMove {
  size_t group = 0;  // of ClusterState
  std::string task;  // where it goes
};

// Chooses moves to `tasks`, which serve. Moves of groups with an obstacle, or to tasks that a session does not reach,
// fail. Groups on other tasks of the job are to be moved away.
using BalancePolicy =
    std::function<std::vector<PlannedMove>(const ClusterState& state, const std::vector<std::string>& tasks)>;

enum class BalanceMeasure {
  kBytes,    // of the variables with a static shape
  kSteps,    // that use them
  kTraffic,  // the product of both
  kLoad,     // the same, with the messages of a step, which cost its server something too
};
// What the group has of it. Steps count since the beginning of a window, or of the sessions.
double LoadOf(const VariableGroup& group, BalanceMeasure measure);

// Evens the sums of the measure, moving as little as that takes, until no two tasks that could exchange variables
// differ by more than `tolerance` of the mean. Variables of a session with device filters only go to tasks that these
// let through.
BalancePolicy BalanceBy(BalanceMeasure measure, double tolerance = 0.02);

struct RebalanceOptions {
  std::string job = "ps";  // only its tasks hold what is moved
  BalancePolicy policy = BalanceBy(BalanceMeasure::kBytes);
  // Counts steps for this long first; zero: from the beginning of each session.
  absl::Duration window = absl::ZeroDuration();
  bool only_plan = false;
  CancellationManager* cancellation = nullptr;  // ends it between two moves, with its status; may be null
  StateMoveOptions move;
  // Called before each move, and after it with its report.
  std::function<void(const VariableGroup& group, const std::string& task)> planned;
  std::function<void(const VariableGroup& group, const std::string& task, const StateMoveReport& report)> moved;
};

// Moves variables, group by group, to the tasks of the job that serve and do not drain. `address` is that of any task
// of the cluster. A group whose move fails does not keep others from
// moving; the first error is returned. FAILED_PRECONDITION if no task of the job
// serves, and as ClusterState::CheckSessionsFollow. Blocks.
absl::Status Rebalance(const std::string& address, const RebalanceOptions& options = {});

}  // namespace weir
