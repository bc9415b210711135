// Processes that this one is to outlive.
#pragma once

#include <sys/types.h>

#include <set>

#include "absl/time/time.h"

namespace weir {

// From now on a descendant whose parent ends becomes a child of this process, wherever it has put itself.
void AdoptOrphans();

// This process's children that are there now, ended ones included.
std::set<pid_t> Children();

// SIGKILL to every child but `spared`, and to those that it leaves, until none is there or `patience` is over. SIGCHLD
// is blocked.
void KillDescendants(const std::set<pid_t>& spared, absl::Duration patience);

}  // namespace weir
