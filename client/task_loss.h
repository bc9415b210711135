#pragma once

#include "core/status.h"

namespace weir {

// True if a task was lost or hangs; it may return.
bool IsTaskLoss(const absl::Status& status);
// True if a task may have returned without its variables: reads fail with FAILED_PRECONDITION, updates with NOT_FOUND.
// Program errors can look the same.
bool MayBeStateLoss(const absl::Status& status);

}  // namespace weir
