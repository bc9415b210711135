// A training loop that survives the loss of tasks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/recoverable_state.h"
#include "client/session.h"
#include "client/training_hook.h"

namespace weir {

struct TrainingLoopOptions {
  Operation train;  // one step; must advance the global step
  ResourceVariable global_step;
  std::vector<Output> fetches;  // values for hooks, computed with each step
  // Feeds for the step that follows `global_step`; empty: none. The same step always gets the same feeds, so that a
  // step made again after a recovery is the step that was lost.
  std::function<absl::StatusOr<FeedList>(int64_t global_step)> feeds;
  std::vector<std::shared_ptr<TrainingHook>> hooks;
  int64_t max_steps = 0;  // stops when the global step has reached it, also before the first step; 0: no such limit

  std::string checkpoint_dir;    // empty: none are written, and recovery starts from the beginning
  int64_t checkpoint_steps = 0;  // every so many steps; 0: not by steps
  absl::Duration checkpoint_interval = absl::InfiniteDuration();
  int max_to_keep = 5;
  // State beside variables, saved, lost and restored together with them.
  std::vector<std::shared_ptr<TrainingState>> states;
  // Positions of iterators (DataIterator::Position) and other state that is saved and restored with the variables.
  std::vector<Saveable> saveables;
  // Other processes may run loops over the same variables: one of them the chief, the others workers. Each then reads
  // the global step with its steps.
  TrainingRole role = TrainingRole::kOnly;
  std::string task_name = "chief-0";  // of a chief or worker: no two loops have the same
  // How long a lost task may take to come back, counted from the failure.
  absl::Duration recovery_timeout = absl::Minutes(5);
};

// Starts from the newest complete checkpoint of the directory, or else from the initializers, then steps until a hook
// stops it or the input ends (OUT_OF_RANGE). When a step fails because a task was lost (UNAVAILABLE, ABORTED,
// CANCELLED, DEADLINE_EXCEEDED), it waits until the cluster answers again. Where the variables' state was lost with the
// task, all of them are restored from the newest complete checkpoint; no variable is ever initialised beside others
// that hold trained values. Other errors end it. Not thread-safe.
class TrainingLoop {
 public:
  // Adds ops to `scope`'s graph: call it before a session is made, or let the session extend.
  TrainingLoop(const Scope& scope, TrainingLoopOptions options);
  // Returns the global step that was reached.
  absl::StatusOr<int64_t> Run(Session& session);

 private:
  absl::Status Start(Session& session);
  absl::Status AwaitState(Session& session, std::string* restored_from);
  absl::StatusOr<StepReport> Step(Session& session);
  // Waits until the variables can be read again, restored where need be. The recovery lasts until a step succeeds: a
  // task that holds no variables shows only then that it is back.
  absl::Status Recover(Session& session, const absl::Status& failure);
  void EndRecovery();
  absl::Status TryRecover(Session& session, std::string* restored_from);
  absl::Status SaveIfDue(Session& session);
  absl::Status Save(Session& session);
  absl::Status ReadGlobalStep(Session& session);
  absl::StatusOr<bool> IsLoss(Session& session, const absl::Status& status);
  bool shares_variables() const { return options_.role != TrainingRole::kOnly; }

  struct Recovery {
    RecoveryReport report;
    absl::Time start;
    absl::Duration pause;
  };

  const TrainingLoopOptions options_;
  RecoverableState state_;
  Output read_global_step_, global_step_after_;  // the latter: as a step leaves it
  bool doubted_ = false;                         // a step failed for what a lost variable, or a mistake, may cause
  int64_t global_step_ = 0;
  int64_t last_saved_step_ = -1;
  absl::Time last_saved_time_;
  std::optional<Recovery> recovery_;  // while one is under way
};

}  // namespace weir
