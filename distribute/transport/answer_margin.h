// Deadlines that leave time for the answer.
#pragma once

#include <algorithm>

#include "absl/time/time.h"

namespace weir {

// How long before its caller's deadline a server gives up, so that its answer, which says what it waited for, arrives
// before the caller gives up too and knows nothing. `left` is the time until that deadline.
inline absl::Duration AnswerMargin(absl::Duration left) {
  return std::clamp(left / 20, absl::ZeroDuration(), absl::Milliseconds(250));
}

// The deadline for a call whose server is to give up at `time`.
inline absl::Time CallDeadlineFor(absl::Time time, absl::Time now) {
  return time + std::clamp((time - now) / 19, absl::ZeroDuration(), absl::Milliseconds(250));
}

}  // namespace weir
