// Evens the load of parameter servers while they serve.
#pragma once

#include <string>
#include <thread>

#include "absl/time/time.h"
#include "core/threads/cancellation.h"

namespace weir {

// Measures the load of all parameter servers in each window, on a thread of its own, and moves variables when LoadWatch
// says so. Only the registrar's acts: all tasks may have one. Stops in its destructor, between two moves.
class AutomaticBalance {
 public:
  // Of a task that serves at `address`.
  AutomaticBalance(std::string address, std::string task, absl::Duration window);
  ~AutomaticBalance();
  AutomaticBalance(const AutomaticBalance&) = delete;

 private:
  void Run();

  const std::string address_, task_;
  const absl::Duration window_;
  CancellationManager cancellation_;
  std::thread thread_;
};

}  // namespace weir
