// Commands about the tasks that a cluster has.
#pragma once

#include <ostream>
#include <string>

#include "absl/time/time.h"
#include "core/status.h"

namespace weir {

// weir members grpc://HOST:PORT: the cluster's epoch, and its tasks with their addresses and states.
absl::Status PrintMembers(const std::string& target, std::ostream& out);

struct DrainCommand {
  std::string target;
  std::string task;     // "/job:worker/task:2"
  bool undo = false;    // the task gets new work again
  bool remove = false;  // remove it from the cluster once no step runs on it
  absl::Duration timeout = absl::Minutes(1);
};
// weir drain grpc://HOST:PORT TASK: marks the task, and prints the tasks as PrintMembers does.
absl::Status DrainTask(const DrainCommand& command, std::ostream& out);

}  // namespace weir
