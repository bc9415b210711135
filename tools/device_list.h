// The devices of a cluster, as text.
#pragma once

#include <ostream>
#include <string>

#include "core/status.h"

namespace weir {

// A line for each device of the cluster of the task at `address`, that task's own first. Of a task that does not answer
// it says so in a line. Fails if the task at `address` itself does not answer, or if it is TensorFlow's and another
// does not. Takes at most some 25 seconds.
absl::Status PrintDevices(const std::string& address, std::ostream& out);

}  // namespace weir
