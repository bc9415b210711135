// Hooks observe and control a training loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/session.h"
#include "client/training_state.h"
#include "core/api.h"
#include "core/status.h"

namespace tensorflow {
class StepStats;
}

namespace WEIR_API weir {

// The outcome of one step.
struct StepReport {
  int64_t global_step = 0;      // after the step
  std::vector<Tensor> fetches;  // requested by the loop's options
  // Requested by the hook that gets the report; none if it requested them for an attempt that failed.
  std::vector<Tensor> hook_fetches;
  absl::Duration duration;
  std::shared_ptr<const tensorflow::StepStats> trace;  // null unless a hook asked for it
};

// One recovery, from the failure to the first step after it.
struct RecoveryReport {
  absl::Status cause;
  int64_t failed_at = 0;      // the global step in progress
  int64_t resumed_at = 0;     // the global step of the recovered state
  std::string restored_from;  // the checkpoint; empty if the tasks still had the state
  absl::Duration duration;
};

// Called on the loop's thread, in the order of registration. An error ends the loop.
class TrainingHook {
 public:
  virtual ~TrainingHook() = default;
  // Whether a loop of this role, one of several that train the same variables, calls this hook at all.
  virtual bool RunsAs(TrainingRole role) const { return true; }
  // After the state was initialised or restored, before the first step.
  virtual absl::Status Begin(Session& session, int64_t global_step) { return absl::OkStatus(); }
  // Before each attempt of a step: whether it is traced, for StepReport::trace. `global_step` is that after the step.
  virtual bool TracesStep(int64_t global_step) { return false; }
  // Before each attempt of a step: values to compute in it, besides the loop's fetches. With workers that step
  // together, they must not wait for other workers, who may not request them.
  virtual std::vector<Output> FetchesOfStep(int64_t global_step) { return {}; }
  // After each step. True stops the loop.
  virtual absl::StatusOr<bool> AfterStep(Session& session, const StepReport& report) { return false; }
  // After the checkpoint of this step is complete.
  virtual absl::Status AfterSave(Session& session, int64_t global_step) { return absl::OkStatus(); }
  // A save between steps failed; the loop goes on.
  virtual void SaveFailed(const absl::Status& cause, int64_t global_step) {}
  // A step failed because a task was lost; the loop recovers next.
  virtual void Failed(const absl::Status& cause, int64_t global_step) {}
  virtual void Recovered(const RecoveryReport& report) {}
  // The loop ends without an error.
  virtual absl::Status End(Session& session, int64_t global_step) { return absl::OkStatus(); }
};

// Stops when the global step reaches `last_step`.
std::unique_ptr<TrainingHook> StopAtStepHook(int64_t last_step);
// Passes fetch `index`, a float scalar, to `log` every `every` steps.
std::unique_ptr<TrainingHook> LogHook(int64_t every, int index,
                                      std::function<void(int64_t global_step, double value)> log);
// Fails with InvalidArgument if fetch `index`, a float scalar, is not finite.
std::unique_ptr<TrainingHook> NanHook(int index);

}  // namespace weir
