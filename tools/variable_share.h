// The variables of a parameter server that joins a running cluster, and leaves it.
#pragma once

#include <string>
#include <thread>

#include "core/status.h"
#include "core/threads/cancellation.h"

namespace weir {

// Takes a share of the other parameter servers' variables, on a thread of its own, and hands them over in the end.
class VariableShare {
 public:
  // Of a task that serves at `address`. Does nothing for tasks of other jobs.
  VariableShare(std::string address, std::string task);
  ~VariableShare() { Stop(); }
  VariableShare(const VariableShare&) = delete;

  // Marks the task as draining, moves its variables away, and waits for the steps that still run here. The task must
  // still serve. Errors are logged: variables that are still here are then lost with the task.
  void HandOver();

 private:
  void Take();
  void Stop();

  const std::string address_, task_;
  const bool is_server_;
  CancellationManager cancellation_;
  std::thread thread_;
};

}  // namespace weir
