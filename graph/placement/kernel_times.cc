#include "graph/placement/kernel_times.h"

#include <algorithm>

#include "tensorflow/core/framework/cost_graph.pb.h"
#include "tensorflow/core/framework/step_stats.pb.h"

namespace weir {

void KernelTimes::AddOne(const std::string& node, const std::string& device, double seconds) {
  Sum& sum = times_[node];
  if (sum.mean.device != device) sum = {.mean = {.device = device}};
  ++sum.steps;
  sum.mean.seconds += (seconds - sum.mean.seconds) / static_cast<double>(sum.steps);
}

void KernelTimes::Add(const tensorflow::StepStats& stats) {
  bool has_times = false;
  for (const tensorflow::DeviceStepStats& lane : stats.dev_stats()) {
    const absl::StatusOr<DeviceName> device = DeviceName::ParseFull(lane.device());
    if (!device.ok()) continue;
    // A node of a loop runs several times.
    absl::flat_hash_map<std::string, double> seconds;
    for (const tensorflow::NodeExecStats& node : lane.node_stats()) {
      const int64_t nanos = std::max<int64_t>(
          node.op_end_rel_nanos() - node.op_start_rel_nanos(),
          1000 * (node.op_end_rel_micros() - node.op_start_rel_micros()) * (node.op_end_rel_nanos() == 0));
      if (nanos > 0) seconds[node.node_name()] += static_cast<double>(nanos) * 1e-9;
    }
    const std::string name = device->ToString();
    for (const auto& [node, sum] : seconds) AddOne(node, name, sum);
    has_times = has_times || !seconds.empty();
  }
  steps_ += has_times ? 1 : 0;
}

void KernelTimes::Add(const tensorflow::CostGraphDef& costs) {
  bool has_times = false;
  for (const auto& node : costs.node()) {
    const absl::StatusOr<DeviceName> device = DeviceName::ParseFull(node.device());
    if (!device.ok() || node.compute_time() <= 0) continue;
    AddOne(node.name(), device->ToString(), static_cast<double>(node.compute_time()) * 1e-6);
    has_times = true;
  }
  steps_ += has_times ? 1 : 0;
}

const KernelTimes::Time* KernelTimes::Find(absl::string_view node) const {
  const auto found = times_.find(node);
  return found != times_.end() ? &found->second.mean : nullptr;
}

}  // namespace weir
