// When a GPU worked for which node of a traced step.
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
#include "worker/plan.h"

namespace weir {

// What the device itself tells of its kernels and copies (GpuActivitySource), with what other steps have asked it for
// at the same time; or, where it tells nothing, timers on its compute stream, one behind what each node has enqueued
// there: their times are as exact as it is that the stream had nothing to do when the step began, which is so unless
// another step runs. Thread-safe.
class DeviceLane {
 public:
  // For a step of `plan` that begins now.
  DeviceLane(GpuDevice& gpu, const Plan& plan);

  // `node`, one of the plan's, has run on the host since `start_nanos` (NowNanos()).
  void NodeDone(const Node& node, int64_t start_nanos);

  struct Span {
    const Node* node = nullptr;  // null: none of this step's, as far as is known
    int64_t start_nanos = 0, end_nanos = 0;
    std::string what;  // a kernel's name, or that of a copy; empty where timers tell
    uint32_t stream = 0;
  };
  // What the stream is through with: all, after a step that was. An error of the device, or of a timer.
  absl::StatusOr<std::vector<Span>> Spans();

 private:
  struct Timed {
    const Node* node;
    int64_t start_nanos;
    std::unique_ptr<GpuTimer> timer;  // since the one before stopped
  };

  absl::Status StartTimer() REQUIRES(mu_);
  absl::StatusOr<std::vector<Span>> TimedSpans() REQUIRES(mu_);

  GpuDevice& gpu_;
  const int64_t begin_nanos_;
  absl::flat_hash_set<const Node*> enqueuing_;
  Mutex mu_;
  std::unique_ptr<GpuActivityRecording> recording_ GUARDED_BY(mu_);  // null: timers
  std::vector<HostRun> runs_ GUARDED_BY(mu_);
  absl::Status status_ GUARDED_BY(mu_);
  std::unique_ptr<GpuTimer> running_ GUARDED_BY(mu_);
  std::vector<Timed> timed_ GUARDED_BY(mu_);
};

}  // namespace weir
