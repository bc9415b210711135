// A task's part in moves of variables.
#pragma once

#include "absl/time/time.h"
#include "core/status.h"
#include "weir/membership.pb.h"

namespace weir {

// The task's master and its worker. Calls block. Thread-safe.
class StateHost {
 public:
  virtual ~StateHost() = default;
  // Returns once no step of the task's sessions uses a variable of the cluster's move in progress, and none can begin
  // until that has ended. ABORTED says what still runs at the deadline.
  virtual absl::Status HoldSteps(absl::Time deadline) = 0;
  // The same for steps of any master on this task, which are rejected instead.
  virtual absl::Status FenceSteps(absl::Time deadline) = 0;
  virtual void ListState(ListStateResponse* response) = 0;
};

}  // namespace weir
