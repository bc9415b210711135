// A collective as a library's operations.
#pragma once

#include <vector>

#include "distribute/collective/collective.h"
#include "distribute/collective/gpu/gpu_collective_library.h"

namespace weir {

// One group. `call` has passed CheckCall, and is no barrier. None for a call without elements. Unimplemented for a
// divisor other than the number of ranks.
absl::StatusOr<std::vector<GpuTransfer>> TransfersOf(const CollectiveCall& call, int rank, int size);

// Whether a library needs the input of such a call beside its output.
bool NeedsOwnInput(CollectiveKind kind);

}  // namespace weir
