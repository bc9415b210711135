// The clock for deadlines, timers and durations. Wall time (absl::Now) can jump: it is for people, logs and files
// alone.
#pragma once

#include <chrono>

#include "absl/time/time.h"
#include "core/api.h"

namespace WEIR_API weir {

// Never runs backwards and never jumps. It reads as wall time did when the process started, so values mean something to
// people, but only differences count: never compare them with wall time or with another process's.
absl::Time MonotonicNow();

// `time`, a value of MonotonicNow, for waits on condition variables. Times more than a year ahead are a year ahead.
std::chrono::steady_clock::time_point ToSteady(absl::Time time);

}  // namespace weir
