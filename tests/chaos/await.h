// Waits of measures.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "core/status.h"

namespace weir::chaos {

// Polls until the condition holds. INTERNAL, with the error, when `patience` is over.
inline absl::Status AwaitTrue(const std::string& error, absl::Duration patience, absl::FunctionRef<bool()> condition) {
  constexpr absl::Duration kLook = absl::Milliseconds(2);
  for (const absl::Time deadline = MonotonicNow() + patience; !condition(); absl::SleepFor(kLook)) {
    if (MonotonicNow() > deadline) return errors::Internal(error);
  }
  return absl::OkStatus();
}

}  // namespace weir::chaos
