#pragma once

#include "core/status.h"

namespace weir {

// Whether a step failed because a task was lost or hangs. It may come back.
bool IsTaskLoss(const absl::Status& status);
// Whether a step may have met a task that came back without its variables: reads of them fail with FAILED_PRECONDITION,
// updates with NOT_FOUND. Programs' own errors look the same.
bool MayBeStateLoss(const absl::Status& status);

}  // namespace weir
