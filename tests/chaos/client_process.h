// A process with many sessions, some of them in a step, that its parent kills.
#pragma once

#include <string>

#include "core/status.h"

namespace weir::chaos {

struct ClientProcessOptions {
  std::string target;      // of the master
  std::string ready_file;  // written once its sessions are open and their steps begun
  int brief = 0;           // sessions that make a step and are closed
  int waiting = 0;         // sessions whose step never ends
};

// The command `client`: opens the sessions, then makes steps until it is killed. Returns only on an error.
absl::Status RunClientProcess(const ClientProcessOptions& options);

}  // namespace weir::chaos
