// Translates collectives into a library's operations.
#pragma once

#include <vector>

#include "distribute/collective/collective.h"
#include "distribute/collective/gpu/gpu_collective_library.h"

namespace weir {

// One group. `call` has passed CheckCall and is not a barrier. Empty for a call without elements. Unimplemented for a
// divisor other than the number of ranks.
absl::StatusOr<std::vector<GpuTransfer>> TransfersOf(const CollectiveCall& call, int rank, int size);

// True if a library needs separate input and output memory for such a call.
bool NeedsOwnInput(CollectiveKind kind);

}  // namespace weir
