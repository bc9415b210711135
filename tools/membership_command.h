// Commands about the tasks that a cluster has.
#pragma once

#include <ostream>
#include <string>

#include "absl/time/time.h"
#include "core/status.h"

namespace weir {

// weir members grpc://HOST:PORT: the cluster's epoch, its tasks with their addresses and states, their standbys, those
// that have handed over, and the number of variables that have moved.
absl::Status PrintMembers(const std::string& target, std::ostream& out);

struct DrainCommand {
  std::string target;
  std::string task;             // "/job:worker/task:2"
  bool undo = false;            // the task gets new work again
  bool remove = false;          // remove it from the cluster once no step runs on it
  bool keep_variables = false;  // leave them on the task
  absl::Duration timeout = absl::Minutes(1);
};
// weir drain grpc://HOST:PORT TASK: marks the task, moves its variables to others of its job, and prints the tasks as
// PrintMembers does.
absl::Status DrainTask(const DrainCommand& command, std::ostream& out);

struct StandbyCommand {
  std::string target;
  std::string job = "ps";
  int count = 1;
  std::string task, on;  // "/job:ps/task:0": only this one, there
  bool remove = false;
};
// weir standby grpc://HOST:PORT: gives each task of a job standbys, or one task one of them, or ends that; prints a
// line for each change.
absl::Status ChangeStandbys(const StandbyCommand& command, std::ostream& out);

struct RebalanceCommand {
  std::string target;
  std::string job = "ps";
  std::string by = "bytes";  // or "steps", "traffic"
  absl::Duration window = absl::Seconds(2);
  absl::Duration max_pause = absl::Seconds(5);
  bool dry_run = false;
};
// weir rebalance grpc://HOST:PORT: spreads variables over the tasks of a job, and prints a line for each move.
absl::Status RebalanceVariables(const RebalanceCommand& command, std::ostream& out);

}  // namespace weir
