// weir launch: runs a program as all tasks of a cluster on this machine.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/status.h"

namespace weir {

struct LaunchCommand {
  int workers = 1;
  int parameter_servers = 0;
  bool chief = false;      // in addition to the workers
  bool evaluator = false;  // not in the cluster of TF_CONFIG, as in TensorFlow
  std::vector<std::string> command;
  bool keep_going = false;  // a failed task does not end the others
  int restarts = 0;         // how often a failed task is restarted before the failure counts
  absl::Duration grace = absl::Seconds(10);
  std::string log_directory;    // empty: no log files
  std::string board_directory;  // WEIR_LOGDIR for the tasks; empty: theirs is that of this process
};

// Runs the command once per task, with TF_CONFIG set and each line of output prefixed with the task. The caller must be
// single-threaded.
// - Returns the exit code of the first task that failed for good, or 128 + the signal that ended it or this process; 0
//   if all succeeded.
// - Parameter servers get SIGTERM when all other tasks have ended.
// - SIGINT, SIGTERM, SIGHUP and SIGQUIT are forwarded to the tasks, which get SIGKILL after `grace` or on a second
//   signal.
// - No process started by a task is left behind, even if this process is killed.
// - InvalidArgument for an invalid cluster.
absl::StatusOr<int> RunLaunch(const LaunchCommand& command);

}  // namespace weir
