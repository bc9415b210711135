// Adopts and kills descendant processes.
#pragma once

#include <sys/types.h>

#include <set>

#include "absl/time/time.h"

namespace weir {

// Makes this process a subreaper: orphaned descendants become its children, in any process group or session.
void AdoptOrphans();

// This process's current children, including zombies.
std::set<pid_t> Children();

// Repeats SIGKILL to all children except `spared`, and to the orphans they leave, until none exist or `patience` is
// over. SIGCHLD is blocked.
void KillDescendants(const std::set<pid_t>& spared, absl::Duration patience);

}  // namespace weir
