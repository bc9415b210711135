// A server's part in moves of variables.
#pragma once

#include "distribute/transport/membership/state_host.h"
#include "master/master.h"
#include "worker/worker.h"

namespace weir {

// Thread-safe.
class TaskState : public StateHost {
 public:
  // Both outlive it.
  TaskState(Master* master, Worker* worker) : master_(master), worker_(worker) {}

  absl::Status HoldSteps(absl::Time deadline) override { return master_->HoldMove(deadline); }
  absl::Status FenceSteps(absl::Time deadline) override { return worker_->FenceMove(deadline); }
  void ListState(ListStateResponse* response) override { master_->ListState(response); }

 private:
  Master* const master_;
  Worker* const worker_;
};

}  // namespace weir
