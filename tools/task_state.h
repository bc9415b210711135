// A server's part in moves of variables.
#pragma once

#include "distribute/transport/membership/state_host.h"
#include "master/master.h"
#include "worker/worker.h"

namespace weir {

// Thread-safe.
class TaskState : public StateHost {
 public:
  // All outlive it.
  TaskState(const ClusterMembership* membership, Master* master, Worker* worker)
      : membership_(membership), master_(master), worker_(worker) {}

  absl::Status HoldSteps(absl::Time deadline) override {
    worker_->DropMovedState(*membership_->Get());  // copies of an earlier move are gone when a new one begins
    return master_->HoldMove(deadline);
  }
  absl::Status FenceSteps(absl::Time deadline) override { return worker_->FenceMove(deadline); }
  void ListState(ListStateResponse* response) override {
    master_->ListState(response);
    worker_->ListHeldState(response);
  }

 private:
  const ClusterMembership* const membership_;
  Master* const master_;
  Worker* const worker_;
};

}  // namespace weir
