// The steps that still run on a task.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "core/status.h"

namespace weir {

// Returns once no step runs on the task that serves at `address`, of whatever master, nor any of its own master. A task
// that cannot be reached is taken to have none, and so is one that does not count them. DEADLINE_EXCEEDED, with the
// number of steps, after `timeout`.
absl::Status AwaitRunningSteps(const std::string& task, const std::string& address, absl::Duration timeout);

}  // namespace weir
