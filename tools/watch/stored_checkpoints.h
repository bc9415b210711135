// Checkpoints in a task's store.
#pragma once

#include <string>

#include "weir/status.pb.h"

namespace weir {

// Adds the newest checkpoints of each model in `directory`, the store of one task. Files that cannot be read are left
// out.
void AddStoredCheckpoints(const std::string& directory, TaskReport* report);

}  // namespace weir
