// Calls of this process's worker that end in time.
#pragma once

#include <memory>

#include "core/threads/timer_queue.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// Calls worker.RunGraphAsync, for a graph that may ignore its cancellation, as one does that waits for the decision on
// its updates.
// - `done` runs once: with the worker's answer; with the reason of the call's cancellation when that fires; or with
//   DEADLINE_EXCEEDED at the call's deadline, as for other tasks. A later answer is dropped.
// - The call's cancellation is not used after `done`. The worker is cancelled, and outlives its run.
// - `timers` (null: the deadline is the worker's alone) outlives the run.
void RunGraphInTime(WorkerInterface& worker, TimerQueue* timers, const CallOptions& call,
                    std::shared_ptr<const RunGraphArgs> args, WorkerInterface::ResultCallback<RunGraphResult> done);

}  // namespace weir
