// weir launch: a program as all tasks of a cluster on this machine.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/status.h"

namespace weir {

struct LaunchCommand {
  int workers = 1;
  int parameter_servers = 0;
  bool chief = false;      // besides the workers
  bool evaluator = false;  // not of the cluster that TF_CONFIG gives, as TensorFlow has it
  std::vector<std::string> command;
  bool keep_going = false;  // a task that fails does not end the others
  int restarts = 0;         // how often a task that fails is started again before that counts
  absl::Duration grace = absl::Seconds(10);
  std::string log_directory;  // empty: no logs besides what is printed
};

// Runs the command once per task, with TF_CONFIG set and each line that it writes marked with the task, and gives the
// exit code: that of the first task that failed for good, 128 + the number of a signal that ended it or this process;
// 0 when all have ended well. Parameter servers need not end: they get SIGTERM when all others have. SIGINT, SIGTERM,
// SIGHUP and SIGQUIT go to the tasks, which get SIGKILL when `grace` is over or a second one comes. No process that a
// task has started is left, also when this one is killed. InvalidArgument for a cluster that cannot be.
// The caller has no threads.
absl::StatusOr<int> RunLaunch(const LaunchCommand& command);

}  // namespace weir
