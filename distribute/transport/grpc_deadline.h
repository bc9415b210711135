// Converts deadlines between MonotonicNow and gRPC; wall-clock changes do not affect them.
#pragma once

#include <grpc/support/time.h>

#include <algorithm>
#include <chrono>

#include "absl/time/time.h"
#include "core/clock.h"

namespace weir {

// For ClientContext::set_deadline. `deadline` is a value of MonotonicNow.
inline gpr_timespec ToGrpcDeadline(absl::Time deadline) {
  if (deadline == absl::InfiniteFuture()) return gpr_inf_future(GPR_CLOCK_MONOTONIC);
  const absl::Duration left = std::clamp(deadline - MonotonicNow(), absl::ZeroDuration(), absl::Hours(24 * 365));
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(absl::ToInt64Nanoseconds(left), GPR_TIMESPAN));
}

// The deadline of a call that just arrived. ServerContext::deadline has converted it to wall time.
inline absl::Time FromGrpcDeadline(std::chrono::system_clock::time_point deadline) {
  if (deadline == std::chrono::system_clock::time_point::max()) return absl::InfiniteFuture();
  return MonotonicNow() + absl::FromChrono(deadline - std::chrono::system_clock::now());
}

}  // namespace weir
