// A sleep that cancellation interrupts.
#pragma once

#include "absl/time/time.h"
#include "core/status.h"
#include "core/threads/cancellation.h"

namespace weir {

// Blocks until `until` and returns OK. If `cancellation` (may be nullptr) starts first, or has started already, returns
// its status.
absl::Status SleepUntil(absl::Time until, CancellationManager* cancellation);

}  // namespace weir
