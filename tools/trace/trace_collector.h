// Collects the next steps of a cluster from its masters.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "core/status.h"
#include "tools/trace/task_clocks.h"
#include "weir/trace.pb.h"

namespace weir {

// weir.TraceService of one task. Calls block until their deadline at most.
class TraceSource {
 public:
  virtual ~TraceSource() = default;
  virtual absl::StatusOr<ListTasksResponse> ListTasks(absl::Time deadline) = 0;
  virtual absl::StatusOr<TraceStepsResponse> TraceSteps(const TraceStepsRequest& request, absl::Time deadline) = 0;
};

struct CollectedTrace {
  explicit CollectedTrace(std::string reference) : clocks(std::move(reference)) {}

  int wanted = 0;                  // steps
  std::vector<std::string> tasks;  // of the cluster, in order of job and index
  std::vector<TracedStep> steps;   // in the order of their ends; at most `wanted`
  TaskClocks clocks;
  std::vector<std::string> notes;  // sentences: what the trace lacks, and why

  bool is_complete() const { return static_cast<int>(steps.size()) == wanted; }
};

struct CollectOptions {
  int steps = 10;
  absl::Duration timeout = absl::Minutes(1);
  int64_t max_bytes = int64_t{512} << 20;  // of steps in memory
  uint64_t tracer = 0;                     // random
  absl::Duration call_timeout = absl::Seconds(15);
  // How long the task that is asked may be unreachable before the trace ends.
  absl::Duration patience = absl::Seconds(5);
  // Whether the user wants the trace as it is. The source ends calls that are under way.
  std::function<bool()> is_interrupted = [] { return false; };
  std::function<absl::Time()> now = MonotonicNow;
  std::function<void(absl::Duration)> sleep = absl::SleepFor;
};

// Returns once `steps` steps have ended, after the timeout, when it is interrupted, or when the task that `source` asks
// is gone: with the steps so far, and notes about what is missing. Tasks that do not answer cost the trace only their
// own steps. An error if the trace cannot begin.
absl::StatusOr<CollectedTrace> CollectTrace(TraceSource& source, const CollectOptions& options);

}  // namespace weir
