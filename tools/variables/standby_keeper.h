// Keeps standbys of all parameter servers.
#pragma once

#include <string>
#include <thread>

#include "core/threads/cancellation.h"

namespace weir {

// Looks every second whether each parameter server has `count` standbys, on a thread of its own, and copies what is
// missing: after tasks have joined or were lost. Only the registrar's acts: all tasks may have one. Stops in its
// destructor, between two copies.
class StandbyKeeper {
 public:
  // Of a task that serves at `address`.
  StandbyKeeper(std::string address, std::string task, int count);
  ~StandbyKeeper();
  StandbyKeeper(const StandbyKeeper&) = delete;

 private:
  void Run();

  const std::string address_, task_;
  const int count_;
  CancellationManager cancellation_;
  std::thread thread_;
};

}  // namespace weir
