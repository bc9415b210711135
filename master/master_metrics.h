// Counts what a master does, for monitoring.
#pragma once

#include "core/metrics/counter.h"
#include "core/metrics/step_metrics.h"

namespace weir {

// Thread-safe.
struct MasterMetrics {
  StepMetrics steps;  // calls of RunStep and RunCallable, preparation of their graphs included
  EventCounter sessions_created;
  EventCounter sessions_adopted;  // of an earlier master
  EventCounter graphs_built;      // prepared and registered, one for each signature of a session
  EventCounter graphs_rebuilt;    // of these, because a task was lost
  EventCounter worker_sessions_reopened;
};

}  // namespace weir
