// The tasks that `weir launch` starts, with their TF_CONFIG.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "distribute/cluster/reserved_port.h"

namespace weir {

struct LaunchTask {
  std::string job;
  int index = 0;
  std::string tf_config;
  bool ends_by_itself = true;  // false for a parameter server, which is ended after the others
};

// The tasks of a cluster on the loopback interface. Reserves their ports while it lives; a task that sets SO_REUSEADDR,
// like gRPC servers, can listen on its port.
class LaunchTasks {
 public:
  struct Counts {
    int workers = 1;
    int parameter_servers = 0;
    bool chief = false;
    bool evaluator = false;
  };
  // InvalidArgument for negative counts, too many tasks for a machine, or neither a worker nor a chief.
  static absl::StatusOr<std::unique_ptr<LaunchTasks>> Create(const Counts& counts);

  const std::vector<LaunchTask>& tasks() const { return tasks_; }

 private:
  LaunchTasks() = default;

  std::vector<std::unique_ptr<ReservedPort>> ports_;
  std::vector<LaunchTask> tasks_;
};

}  // namespace weir
