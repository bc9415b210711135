// Which tasks `weir launch` starts, and what it tells them.
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
  bool ends_by_itself = true;  // a parameter server does not: it goes when the others have ended
};

// The tasks of a cluster on the loopback. While this lives their ports are given to nobody else; a task that sets
// SO_REUSEADDR, as gRPC's servers do, can listen on its own.
class LaunchTasks {
 public:
  struct Counts {
    int workers = 1;
    int parameter_servers = 0;
    bool chief = false;
    bool evaluator = false;
  };
  // InvalidArgument for negative counts, more tasks than a machine can bear, or nobody who works.
  static absl::StatusOr<std::unique_ptr<LaunchTasks>> Create(const Counts& counts);

  const std::vector<LaunchTask>& tasks() const { return tasks_; }

 private:
  LaunchTasks() = default;

  std::vector<std::unique_ptr<ReservedPort>> ports_;
  std::vector<LaunchTask> tasks_;
};

}  // namespace weir
