// A training loop that survives the loss of tasks.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/saveable.h"
#include "client/session.h"
#include "client/training_hook.h"
#include "client/training_state.h"
#include "client/variables.h"
#include "core/api.h"
#include "core/files/file_system.h"

namespace WEIR_API weir {

class RecoverableState;

struct TrainingLoopOptions {
  Operation train;  // one step; must advance the global step
  // Runs before the first step and after each recovery, when the variables are whole: Strategy::Resume(). It may change
  // the global step.
  Operation resume;
  // Every recovery restores the newest checkpoint, even if no task has lost variables: for steps that leave something
  // behind when they fail, because it has no commit (docs/commit.md), such as the position of an input. Replicas always
  // do so; workers follow their chief.
  bool restore_after_failure = false;
  ResourceVariable global_step;
  std::vector<Output> fetches;  // values for hooks, computed in each step
  // Feeds for the step after `global_step`; empty: none. Must be deterministic, so that a step repeated after a
  // recovery equals the lost one.
  std::function<absl::StatusOr<FeedList>(int64_t global_step)> feeds;
  std::vector<std::shared_ptr<TrainingHook>> hooks;
  int64_t max_steps = 0;  // stops when the global step reaches it, even before the first step; 0: no limit

  std::string checkpoint_dir;  // empty: none are written, and recovery starts from the beginning
  // Keeps checkpoints on these tasks instead of in a directory: each task's variables in its own store (weir server
  // --checkpoint-store), and a copy in the store of the next task of the list, so that the loss of one task with its
  // disk loses nothing. All tasks with variables, such as "/job:ps/task:0", and at least two. `checkpoint_dir` is then
  // the model's name in the stores, a relative path. Not with `states`, nor with `saveables` of a chief or worker;
  // `keep_every` does not apply.
  std::vector<std::string> checkpoint_tasks;
  int64_t checkpoint_steps = 0;  // every so many steps; 0: not by steps
  absl::Duration checkpoint_interval = absl::InfiniteDuration();
  // Saves between steps are written, at low priority, while the next steps run; their values are those of one moment.
  // - Tasks need memory for a second value of each variable: from the first step on, if updates change all of its
  //   elements at once; otherwise of the rows that change during a save, until it ends.
  // - A task with too little memory, with a warning, makes this save one between steps.
  // - A save that is due while another is written starts when that has ended.
  // - `states` are still saved between steps.
  bool saves_in_background = false;
  // Bytes of variables on one device beyond which no save is in the background, with a warning; 0: no limit.
  int64_t background_save_limit = 0;
  int max_to_keep = 5;
  // Of the checkpoints beyond max_to_keep, one per this interval is kept permanently.
  absl::Duration keep_every = absl::InfiniteDuration();
  std::shared_ptr<FileSystemRegistry> files = FileSystemRegistry::Default();  // of checkpoint_dir
  // State besides variables that is saved, lost and restored together with them.
  std::vector<std::shared_ptr<TrainingState>> states;
  // Positions of iterators (DataIterator::Position) and other state saved and restored with the variables.
  std::vector<Saveable> saveables;
  // Other processes may run loops over the same variables: one is the chief, the others are workers. Each then reads
  // the global step in its steps. Or over copies of them, in the same steps: one is the only loop with variables, the
  // others are replicas.
  TrainingRole role = TrainingRole::kOnly;
  std::string task_name = "chief-0";  // of a chief, worker or replica; must be unique
  // The time for a lost task to come back, counted from the failure.
  absl::Duration recovery_timeout = absl::Minutes(5);
};

// Starts from the newest undamaged checkpoint of the directory, or else from the initializers, then steps until a hook
// stops it or the input ends (OUT_OF_RANGE). Not thread-safe.
// - If a step fails because a task was lost (UNAVAILABLE, ABORTED, CANCELLED, DEADLINE_EXCEEDED), waits until the
//   cluster responds again.
// - If variables were lost with the task, restores all of them from the newest undamaged checkpoint; it never
//   initialises a variable while others have trained values. See restore_after_failure too.
// - If a save between steps fails because of the disk, logs a warning and continues; the next save runs when due. The
//   first and the last save must succeed.
// - The start takes the lease of the directory. If another loop takes it later, the next save or restore fails with
//   FAILED_PRECONDITION, which names the other (IsLeaseLost), and ends this loop; it changes nothing there.
// - Other errors end the loop.
class TrainingLoop {
 public:
  // Adds ops to `scope`'s graph: call it before a session is created, or let the session extend its graph.
  TrainingLoop(const Scope& scope, TrainingLoopOptions options);
  ~TrainingLoop();
  // Returns the final global step.
  absl::StatusOr<int64_t> Run(Session& session);

 private:
  // Waits for tasks that are lost, or not there yet, and for the chief.
  absl::Status Start(Session& session);
  absl::Status TryStart(Session& session);
  // Steps until a hook, the limit or the input's end stops it.
  absl::Status StepToEnd(Session& session);
  absl::Status SaveAtEnd(Session& session);
  absl::Status Resume(Session& session);
  absl::StatusOr<StepReport> Step(Session& session);
  // True if a hook stops the loop.
  absl::StatusOr<bool> CallAfterStep(Session& session, StepReport report);
  // Waits until the variables can be read again, restoring them if needed. The recovery lasts until a step succeeds,
  // because the return of a task without variables shows only then.
  absl::Status Recover(Session& session, const absl::Status& failure);
  void EndRecovery();
  absl::Status TryRecover(Session& session, std::string* restored_from);
  absl::Status SaveIfDue(Session& session);
  absl::Status SaveOrWarn(Session& session);
  absl::Status Save(Session& session);
  // The outcome of a save between steps: a warning or an error.
  absl::Status SaveEnded(Session& session, const absl::Status& status, int64_t step);
  absl::Status Saved(Session& session, int64_t step);
  absl::Status SaveBetweenSteps(Session& session);
  absl::Status BeginBackgroundSave(Session& session);
  // Makes tasks hold memory for the next background save ready. Does not block.
  void BeginReserving(Session& session);
  // Whether the next save can be in the background; waits for what BeginReserving began.
  bool EndReserving();
  // Before the session goes, or is recovered.
  void AwaitBackgroundWork();
  // Reports a background save that has ended; waits for it if `wait`.
  absl::Status PollBackgroundSave(Session& session, bool wait);
  absl::Status ReadGlobalStep(Session& session);
  absl::StatusOr<bool> IsLoss(Session& session, const absl::Status& status);
  bool shares_variables() const {
    return options_.role == TrainingRole::kChief || options_.role == TrainingRole::kWorker;
  }
  // True if a step may fail because of variables that only another loop can restore.
  bool steps_with_others() const {
    return shares_variables() || options_.role == TrainingRole::kReplica || options_.resume.valid();
  }
  bool must_restore() const {
    return options_.role == TrainingRole::kReplica ||
           (options_.restore_after_failure && options_.role != TrainingRole::kWorker);
  }

  struct Recovery {
    RecoveryReport report;
    absl::Time start;
    absl::Duration pause;
  };

  const TrainingLoopOptions options_;
  const std::unique_ptr<RecoverableState> state_;
  Output read_global_step_, global_step_after_;  // the latter is the value after a step
  std::vector<int> num_hook_fetches_;            // of the last attempt of a step, by hook
  bool doubted_ = false;                         // a step failed: lost variables, or a program error
  int64_t global_step_ = 0;
  int64_t last_saved_step_ = -1;
  int64_t last_tried_step_ = -1;  // of a save, successful or not
  absl::Time last_tried_time_;
  std::future<absl::Status> saving_;  // valid while a background save runs
  int64_t saving_step_ = 0;
  std::future<absl::Status> reserving_;  // valid from the first step after a save to the next save
  std::optional<Recovery> recovery_;     // while a recovery is in progress
};

}  // namespace weir
