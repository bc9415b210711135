#include "worker/device_lane.h"

#include <algorithm>
#include <utility>

#include "core/gpu/gpu_op_kernel.h"
#include "worker/capture/captured_segment.h"
#include "worker/node_costs.h"

namespace weir {

DeviceLane::DeviceLane(GpuDevice& gpu, const Plan& plan) : gpu_(gpu), begin_nanos_(NowNanos()) {
  for (const PlanNode& node : plan.nodes) {
    if (dynamic_cast<const GpuOpKernel*>(node.kernel) != nullptr ||
        dynamic_cast<const CapturedSegment*>(node.kernel) != nullptr) {
      enqueuing_.insert(node.node);
    }
  }
  MutexLock lock(mu_);
  status_ = StartTimer();
}

absl::Status DeviceLane::StartTimer() {
  ASSIGN_OR_RETURN(running_, gpu_.runtime().CreateTimer());
  return running_->Start(&gpu_.compute());
}

void DeviceLane::NodeDone(const Node& node, int64_t start_nanos) {
  if (!enqueuing_.contains(&node)) return;
  MutexLock lock(mu_);
  if (!status_.ok()) return;
  status_ = running_->Stop(&gpu_.compute());
  if (!status_.ok()) return;
  timed_.push_back({&node, start_nanos, std::move(running_)});
  status_ = StartTimer();
}

absl::StatusOr<std::vector<DeviceLane::Span>> DeviceLane::Spans() {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(status_);
  std::vector<Span> spans;
  int64_t end_nanos = begin_nanos_;
  for (const Timed& timed : timed_) {
    ASSIGN_OR_RETURN(const std::optional<absl::Duration> elapsed, timed.timer->Elapsed());
    if (!elapsed.has_value()) break;
    const int64_t before = end_nanos;
    end_nanos += absl::ToInt64Nanoseconds(*elapsed);
    // A device that had nothing to do began when the host said so.
    spans.push_back({timed.node, std::min(end_nanos, std::max(before, timed.start_nanos)), end_nanos});
  }
  return spans;
}

}  // namespace weir
