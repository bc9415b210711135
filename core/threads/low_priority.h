// Work that gives way to everything else on the machine.
#pragma once

#include "absl/functional/function_ref.h"
#include "core/status.h"

namespace weir {

// Runs `work` on a thread of its own, with the lowest CPU priority (nice 19) and a low I/O priority, and waits for it.
// Without such a thread, runs it here.
absl::Status RunAtLowPriority(absl::FunctionRef<absl::Status()> work);

}  // namespace weir
