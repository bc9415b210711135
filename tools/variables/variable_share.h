// The variables of a parameter server that joins a running cluster, and leaves it.
#pragma once

#include <string>
#include <thread>

#include "absl/time/time.h"
#include "client/state_moves/rebalance.h"
#include "core/status.h"
#include "core/threads/cancellation.h"

namespace weir {

// Moves the variables of `task`, which drains and serves at `task_address`, to other parameter servers, lets one of
// them run nodes that name the task, if there may be some, and returns once no step runs on the task and it has no
// variables. False if there is no other parameter server: the variables stay then. `address` is that of any task of the
// cluster.
absl::StatusOr<bool> HandOverTask(const std::string& address, const std::string& task, const std::string& task_address,
                                  const RebalanceOptions& options, absl::Duration timeout);

// Takes a share of the other parameter servers' variables, on a thread of its own, and hands them over in the end.
class VariableShare {
 public:
  // Of a task that serves at `address`. Does nothing for tasks of other jobs.
  VariableShare(std::string address, std::string task);
  ~VariableShare() { Stop(); }
  VariableShare(const VariableShare&) = delete;

  // Marks the task as draining, moves its variables away, and waits for the steps that still run here. The task must
  // still serve. Errors are logged: variables that are still here are then lost with the task.
  void HandOver(absl::Duration timeout);

 private:
  void Take();
  void Stop();

  const std::string address_, task_;
  const bool is_server_;
  CancellationManager cancellation_;
  std::thread thread_;
};

}  // namespace weir
