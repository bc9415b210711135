// Ties a process to the one that started it.
#pragma once

#include "core/status.h"

namespace weir {

// From now on, this process is killed when its parent ends, or when the parent's thread that started it does (Linux
// tells them apart). CANCELLED if `parent` is not, or no longer, the parent's process id.
absl::Status EndWithParent(int parent);

}  // namespace weir
