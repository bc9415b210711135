// One run of the training job, seen by the process that disturbs it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/status.h"
#include "distribute/cluster/emulated_network.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/cluster/server_process.h"
#include "tests/chaos/chief.h"
#include "tests/chaos/job.h"

namespace weir::chaos {

// The tasks of the job, each a process: its master, with a journal, beside parameter servers and workers.
class JobCluster {
 public:
  // `weir` is the program's path. Journals and logs are in `directory`, which must exist. With a network, which
  // outlives the cluster, the tasks are on its hosts from 1 on: see HostOf. `flags` are the servers' other flags.
  static absl::StatusOr<std::unique_ptr<JobCluster>> Start(const std::string& weir, const std::string& directory,
                                                           const EmulatedNetwork* network = nullptr,
                                                           const std::vector<std::string>& flags = {});
  // Kills the tasks, and removes what servers that were killed leave in shared memory.
  ~JobCluster();
  JobCluster(const JobCluster&) = delete;

  ProcessCluster& tasks() { return *tasks_; }
  static std::map<std::string, int> Jobs();
  static int HostOf(const std::string& job, int index);
  static constexpr int kHosts = 1 + 1 + kServers + kWorkers;  // host 0 is the chief's
  std::string target() const { return tasks_->Target("master", 0); }

 private:
  explicit JobCluster(const std::string& directory) : journals_(directory + "/journal") {}

  const std::string journals_;
  std::unique_ptr<ProcessCluster> tasks_;
};

// The chief is a process of its own, which ends with this object. Not thread-safe.
class JobRun {
 public:
  // `directory` is new or empty. Errors of the methods quote the end of the chief's log there.
  static absl::StatusOr<std::unique_ptr<JobRun>> Start(ChiefOptions options);
  ~JobRun();
  JobRun(const JobRun&) = delete;

  // The chief's next message. DeadlineExceeded if it makes no progress in this time, Internal if it failed.
  absl::StatusOr<Progress> Next(absl::Duration patience);
  // Drops the messages that were not read.
  absl::Status Drain();
  // Returns once the process has ended. Its unread messages are dropped.
  absl::Status KillChief();
  absl::Status LaunchChief() { return chief_->Launch(); }
  // After kEnded: the variables of the last checkpoint with every bit, a line each: "name type shape hex".
  absl::StatusOr<std::string> Result() const;
  std::string checkpoints() const { return options_.directory + "/checkpoints"; }

 private:
  explicit JobRun(ChiefOptions options) : options_(std::move(options)) {}
  absl::Status Failed(const std::string& what) const;

  const ChiefOptions options_;
  int pipe_ = -1;
  std::unique_ptr<ServerProcess> chief_;
};

// Where the contents of two results differ: the first line that does, shortened. Empty if they are equal.
std::string Difference(const std::string& expected, const std::string& actual);

}  // namespace weir::chaos
