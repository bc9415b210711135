// Answers that wait for steps to end, though not beyond the deadline of their call.
#pragma once

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "core/status.h"
#include "core/threads/timer_queue.h"

namespace weir {

// Calls `done` once: with OK when the last copy of the result is gone, or with late() a moment before `deadline`, so
// that the answer arrives in time. Both run with no lock held. `timers` (null: the answer waits) outlives the result.
std::shared_ptr<void> AnswerInTime(TimerQueue* timers, absl::Time deadline, std::function<absl::Status()> late,
                                   std::function<void(absl::Status)> done);

}  // namespace weir
