// A pause that cancellation ends.
#pragma once

#include "absl/time/time.h"
#include "core/cancellation.h"
#include "core/status.h"

namespace weir {

// Blocks until `until`: OK. Where `cancellation`, which may be nullptr, starts first (or has started): its status.
absl::Status SleepUntil(absl::Time until, CancellationManager* cancellation);

}  // namespace weir
