#include "worker/device_lane.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/gpu/gpu_op_kernel.h"
#include "core/logging.h"
#include "worker/capture/captured_segment.h"
#include "worker/executor/node_costs.h"

namespace weir {

namespace {

// Null if the device does not support recording, which is logged once per process.
std::unique_ptr<GpuActivityRecording> Record(GpuDevice& gpu) {
  auto* const source = dynamic_cast<GpuActivitySource*>(&gpu.runtime());
  if (source == nullptr) return nullptr;
  auto recording = source->RecordActivities();
  if (recording.ok()) return *std::move(recording);
  static std::atomic<bool> is_told{false};
  if (!is_told.exchange(true)) {
    WEIR_LOG(WARNING).With("device", gpu.name()).With("reason", recording.status().message())
        << "traces show when nodes were done, not kernels";
  }
  return nullptr;
}

}  // namespace

DeviceLane::DeviceLane(GpuDevice& gpu, const Plan& plan) : gpu_(gpu), begin_nanos_(NowNanos()) {
  for (const PlanNode& node : plan.nodes) {
    if (dynamic_cast<const GpuOpKernel*>(node.kernel) != nullptr ||
        dynamic_cast<const CapturedSegment*>(node.kernel) != nullptr) {
      enqueuing_.insert(node.node);
    }
  }
  MutexLock lock(mu_);
  recording_ = Record(gpu_);
  if (recording_ == nullptr) status_ = StartTimer();
}

absl::Status DeviceLane::StartTimer() {
  ASSIGN_OR_RETURN(running_, gpu_.runtime().CreateTimer());
  return running_->Start(&gpu_.compute());
}

void DeviceLane::NodeDone(const Node& node, int64_t start_nanos) {
  if (!enqueuing_.contains(&node)) return;
  MutexLock lock(mu_);
  if (recording_ != nullptr) {
    runs_.push_back({&node, start_nanos, NowNanos(), static_cast<uint32_t>(::gettid())});
    return;
  }
  if (!status_.ok()) return;
  status_ = running_->Stop(&gpu_.compute());
  if (!status_.ok()) return;
  timed_.push_back({&node, start_nanos, std::move(running_)});
  status_ = StartTimer();
}

absl::StatusOr<std::vector<DeviceLane::Span>> DeviceLane::Spans() {
  MutexLock lock(mu_);
  if (recording_ == nullptr) return TimedSpans();
  ASSIGN_OR_RETURN(std::vector<GpuActivity> activities, recording_->Stop());
  const std::vector<const Node*> nodes = MatchActivities(activities, runs_);
  std::vector<Span> spans;
  for (size_t i = 0; i < activities.size(); ++i) {
    GpuActivity& activity = activities[i];
    spans.push_back({nodes[i], activity.start_nanos, activity.end_nanos, std::move(activity.name), activity.stream});
  }
  return spans;
}

absl::StatusOr<std::vector<DeviceLane::Span>> DeviceLane::TimedSpans() {
  RETURN_IF_ERROR(status_);
  std::vector<Span> spans;
  int64_t end_nanos = begin_nanos_;
  for (const Timed& timed : timed_) {
    ASSIGN_OR_RETURN(const std::optional<absl::Duration> elapsed, timed.timer->Elapsed());
    if (!elapsed.has_value()) break;
    const int64_t before = end_nanos;
    end_nanos += absl::ToInt64Nanoseconds(*elapsed);
    // If the device was idle, the work began when the host enqueued it.
    spans.push_back({timed.node, std::min(end_nanos, std::max(before, timed.start_nanos)), end_nanos, "", 0});
  }
  return spans;
}

}  // namespace weir
