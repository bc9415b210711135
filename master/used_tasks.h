// The tasks that a session has used.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "core/mutex.h"
#include "master/client_graph.h"
#include "master/session_tasks.h"

namespace weir {

// The tasks with parts of a session's graphs, since each of them started. Steps on others may wait for what a step
// there was to do. Thread-safe.
class UsedTasks {
 public:
  struct Task {
    std::string name;
    std::shared_ptr<WorkerInterface> worker;
    uint64_t incarnation = 0;  // of its first device
  };

  void Add(const ClientGraph& graph);
  // Forgets tasks that have restarted, as far as `tasks` knows.
  void ForgetRestarted(const SessionTasks& tasks);
  // Those without a part of `graph`, except the master's own.
  std::vector<Task> Without(const ClientGraph& graph) const;

 private:
  mutable Mutex mu_;
  absl::btree_map<std::string, Task> tasks_ GUARDED_BY(mu_);
};

}  // namespace weir
