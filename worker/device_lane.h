// Measures when a GPU worked on which node of a traced step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/gpu/gpu_activities.h"
#include "core/gpu/gpu_device.h"
#include "core/mutex.h"
#include "graph/graph.h"
#include "worker/activity_match.h"
#include "worker/executor/plan.h"

namespace weir {

// Times from the device's own records of kernels and copies (GpuActivitySource), including those of concurrent steps.
// Without such records, timers on the compute stream, one after the work of each node; they are exact if the stream was
// idle when the step began, that is, unless another step runs. Thread-safe.
class DeviceLane {
 public:
  // For a step of `plan` that begins now.
  DeviceLane(GpuDevice& gpu, const Plan& plan);

  // Called after `node`, one of the plan's, has run on the host since `start_nanos` (NowNanos()).
  void NodeDone(const Node& node, int64_t start_nanos);

  struct Span {
    const Node* node = nullptr;  // null: not known to belong to this step
    int64_t start_nanos = 0, end_nanos = 0;
    std::string what;  // the kernel's or copy's name; empty for timers
    uint32_t stream = 0;
  };
  // What the stream has completed; after a successful step that is everything. An error of the device or of a timer.
  absl::StatusOr<std::vector<Span>> Spans();

 private:
  struct Timed {
    const Node* node;
    int64_t start_nanos;
    std::unique_ptr<GpuTimer> timer;  // time since the previous timer
  };

  absl::Status StartTimer() REQUIRES(mu_);
  absl::StatusOr<std::vector<Span>> TimedSpans() REQUIRES(mu_);

  GpuDevice& gpu_;
  const int64_t begin_nanos_;
  absl::flat_hash_set<const Node*> enqueuing_;
  Mutex mu_;
  std::unique_ptr<GpuActivityRecording> recording_ GUARDED_BY(mu_);  // null: timers are used
  std::vector<HostRun> runs_ GUARDED_BY(mu_);
  absl::Status status_ GUARDED_BY(mu_);
  std::unique_ptr<GpuTimer> running_ GUARDED_BY(mu_);
  std::vector<Timed> timed_ GUARDED_BY(mu_);
};

}  // namespace weir
