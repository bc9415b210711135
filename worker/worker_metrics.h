// A worker's counts and sessions, for monitoring.
#pragma once

#include <cstdint>
#include <string>

#include "core/metrics/counter.h"
#include "core/metrics/step_metrics.h"

namespace weir {

// Thread-safe.
struct WorkerMetrics {
  StepMetrics steps;  // calls of RunGraph
  EventCounter sessions_created;
  EventCounter sessions_orphaned;  // ended because their master was lost or has restarted
  EventCounter graphs_registered;
};

// A value, without the session's handle, which is a secret.
struct WorkerSessionSummary {
  std::string master;  // its task
  size_t graphs = 0;
  size_t running_steps = 0;
};

}  // namespace weir
