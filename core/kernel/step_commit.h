// The interface through which kernels take part in the commit of their step.
#pragma once

#include <functional>
#include <string>

#include "core/status.h"
#include "core/threads/cancellation.h"

namespace weir {

// The decision whether the updates of one step take effect, as one task sees it. One task, the coordinator, decides;
// the others with updates wait for it. graph/passes/step_commit.h adds the nodes that call it. Thread-safe.
class StepCommit {
 public:
  virtual ~StepCommit() = default;

  // At the coordinator, once all tasks have computed everything that precedes the updates: decides that they take
  // effect. ABORTED, with the reason, if the step has failed.
  virtual absl::Status Decide() = 0;
  // Elsewhere: this task has computed its share. From now on it follows the coordinator's decision, whatever fails. An
  // error if the step has been aborted here: the coordinator must then not learn that the task is ready.
  virtual absl::Status SetReady() = 0;
  // Elsewhere: waits for the decision, which the coordinator sends under `key`. `done` gets OK if the updates take
  // effect, otherwise the reason why they do not. It runs exactly once, with no lock held.
  virtual void AwaitDecision(const std::string& key, std::function<void(absl::Status)> done) = 0;
  // Called when a node fails. If the updates are committed, cancels the step's waits for other steps with this reason
  // and returns true: the step continues without the node. Otherwise returns false: the step must end.
  virtual bool EndWaitsIfCommitted(const absl::Status& failure) = 0;
  // Fires with the step's cancellation, and alone if the step is given up once it is committed: its updates then go on,
  // but waits for other steps end. For kernels that wait; lives as long as they run.
  virtual CancellationManager* waits() = 0;
};

}  // namespace weir
