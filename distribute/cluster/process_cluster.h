// Clusters of real processes on this machine, for demos, tests and benchmarks.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/api.h"
#include "core/status.h"
#include "distribute/cluster/cluster_spec.h"
#include "distribute/cluster/reserved_port.h"
#include "distribute/cluster/server_process.h"

namespace WEIR_API weir {

// Runs one `weir server` per task.
// - Ports are on the loopback, chosen by the system and reserved for the cluster's lifetime, so that a task can be
//   restarted at its address; unless Options::place says otherwise.
// - The processes end with this object and with the process that created it.
// - Thread-safe. Naming a task that the cluster does not have aborts.
class ProcessCluster {
 public:
  // Where a task runs.
  struct Place {
    std::string address;              // of its server
    std::vector<std::string> prefix;  // what precedes its program's path: a program that starts it there
  };
  struct Options {
    std::string program;                                // the path of `weir`
    std::map<std::string, int> jobs = {{"worker", 1}};  // how many tasks each has
    bool use_tf_config = false;                         // instead of flags
    std::vector<std::string> flags;                     // for every task
    std::vector<std::string> environment;               // for every task: "NAME=value", beside this process's
    bool restart = false;                               // restarts tasks that die
    std::string directory;  // of the logs, "worker-0.log"; must exist. Empty: a temporary one, removed at the end
    absl::Duration start_timeout = absl::Seconds(60);
    std::function<Place(const std::string& job, int index)> place;  // empty: on the loopback
  };

  // Returns when all tasks are serving. Errors quote the end of the failed task's log.
  static absl::StatusOr<std::unique_ptr<ProcessCluster>> Start(Options options);
  // Sends SIGKILL to running tasks.
  ~ProcessCluster();
  ProcessCluster(const ProcessCluster&) = delete;

  const ClusterSpec& spec() const { return spec_; }
  // "grpc://HOST:PORT".
  std::string Target(const std::string& job, int index) const;
  // The task's output so far.
  std::string Log(const std::string& job, int index) const;
  pid_t pid(const std::string& job, int index) const;

  // Sends SIGKILL; returns the pid once the process has ended. With `restart` the task is started again.
  pid_t Kill(const std::string& job, int index);
  // Sends SIGSTOP: the task hangs, but its connections stay open.
  void Pause(const std::string& job, int index);
  void Resume(const std::string& job, int index);
  // Sends SIGTERM; returns the exit code. After `timeout` the task is killed: DeadlineExceeded.
  absl::StatusOr<int> Terminate(const std::string& job, int index, absl::Duration timeout = absl::Seconds(15));
  // Starts an ended task at its address. Returns when it is serving.
  absl::Status Restart(const std::string& job, int index);
  // Sends SIGTERM to all tasks, and SIGKILL to those still running after `patience`. Returns when all have ended.
  void Stop(absl::Duration patience);

 private:
  struct Task {
    std::string job;
    int index = 0;
    Place place;
    std::unique_ptr<ReservedPort> port;  // null if the place is given
    std::unique_ptr<ServerProcess> process;
  };

  explicit ProcessCluster(Options options);
  absl::Status MakeDirectory();
  absl::Status PlaceTasks();
  std::string PathOf(const Task& task, absl::string_view suffix) const;
  std::vector<std::string> Arguments(const Task& task) const;
  std::vector<std::string> Environment(const Task& task) const;
  const Task& Find(const std::string& job, int index) const;

  const Options options_;
  std::string directory_;  // logs and ready files
  std::vector<Task> tasks_;
  ClusterSpec spec_;
};

}  // namespace weir
