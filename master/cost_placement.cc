#include "master/cost_placement.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "distribute/collective/topology.h"
#include "graph/passes/determinism.h"
#include "graph/placement/cost_placer.h"

namespace weir {
namespace {

using tensorflow::AttrValue;

absl::Status WrongParameter(const std::string& name, const AttrValue& value) {
  return errors::InvalidArgument(
      "custom_optimizers: ", kCostPlacementOptimizer,
      " has the parameters devices and link, strings, measured, a bool, and effort, an int from 1 to "
      "1000, not ",
      name, " = ", value.ShortDebugString());
}

const tensorflow::RewriterConfig::CustomGraphOptimizer* Asked(const tensorflow::ConfigProto& config) {
  for (const auto& optimizer : config.graph_options().rewrite_options().custom_optimizers()) {
    if (optimizer.name() == kCostPlacementOptimizer) return &optimizer;
  }
  return nullptr;
}

// "threads: 8" (Device::ToProto).
int ThreadsOf(const tensorflow::DeviceAttributes& attributes) {
  absl::string_view text = attributes.physical_device_desc();
  int threads = 0;
  return absl::ConsumePrefix(&text, "threads: ") && absl::SimpleAtoi(text, &threads) && threads > 0 ? threads
                                                                                                    : kUnknownThreads;
}

TransferCost LinkBetween(const DeviceName& from, const DeviceName& to, const TransferCost& between_tasks) {
  if (!from.SameTask(to)) return between_tasks;
  return from.type == kDeviceCpu && to.type == kDeviceCpu ? TransferCost() : kGpuLink;
}

}  // namespace

DeviceCosts EstimatedCosts(const DeviceName& name, const tensorflow::DeviceAttributes& attributes) {
  DeviceCosts costs;
  costs.name = name;
  costs.seconds_per_kernel = kKernelSeconds;
  if (name.type == kDeviceGpu) {
    costs.flops_per_second = kGpuFlops;
    costs.bytes_per_second = kGpuBytesPerSecond;
    costs.memory_bytes = attributes.memory_limit();
  } else {
    costs.flops_per_second = kCpuFlopsPerThread * ThreadsOf(attributes);
    costs.bytes_per_second = kCpuBytesPerSecond;
  }
  return costs;
}

absl::StatusOr<std::unique_ptr<SessionCostPlacement>> SessionCostPlacement::FromConfig(
    const tensorflow::ConfigProto& config) {
  const auto* const asked = Asked(config);
  if (asked == nullptr) return nullptr;
  std::unique_ptr<SessionCostPlacement> placement(new SessionCostPlacement);
  const LinkCost& link = LinkCosts().between_hosts;
  placement->between_tasks_ = {.latency = link.latency, .seconds_per_byte = link.seconds_per_byte};
  ASSIGN_OR_RETURN(const bool deterministic, AsksForDeterministicOps(config.graph_options()));
  placement->measures_ = !deterministic;
  for (const auto& [name, value] : asked->parameter_map()) {
    if (name == "devices" && value.value_case() == AttrValue::kS) {
      ASSIGN_OR_RETURN(placement->described_, ParseDeviceCosts(value.s()));
    } else if (name == "link" && value.value_case() == AttrValue::kS) {
      ASSIGN_OR_RETURN(placement->between_tasks_, ParseTransferCost(value.s()));
    } else if (name == "measured" && value.value_case() == AttrValue::kB) {
      placement->measures_ = value.b() && !deterministic;
    } else if (name == "effort" && value.value_case() == AttrValue::kI && value.i() >= 1 && value.i() <= 1000) {
      placement->most_kernels_ = value.i() * 1'000'000;
    } else {
      return WrongParameter(name, value);
    }
  }
  return placement;
}

absl::Status SessionCostPlacement::CheckDevices(const SessionTasks& tasks) const {
  const std::vector<DeviceName> devices = tasks.PlacementOrder();
  for (const DeviceCosts& described : described_) {
    if (std::find(devices.begin(), devices.end(), described.name) != devices.end()) continue;
    return errors::InvalidArgument("custom_optimizers: ", kCostPlacementOptimizer, " describes ",
                                   described.name.ToString(), ", which the session's cluster does not have");
  }
  return absl::OkStatus();
}

absl::StatusOr<ClusterCosts> SessionCostPlacement::Costs(const PlacerOptions& placement,
                                                         const SessionTasks& tasks) const {
  absl::flat_hash_map<std::string, tensorflow::DeviceAttributes> attributes;
  for (auto& device : tasks.Devices()) attributes.emplace(device.name(), std::move(device));
  const absl::flat_hash_set<std::string> draining = tasks.DrainingTasks();
  std::vector<DeviceCosts> devices;
  for (const DeviceName& name : placement.devices) {
    DeviceCosts costs = EstimatedCosts(name, attributes[name.ToString()]);
    for (const DeviceCosts& described : described_) {
      if (described.name == name) costs = described;
    }
    costs.avoid = draining.contains(name.TaskName());
    devices.push_back(std::move(costs));
  }
  ClusterCosts costs(std::move(devices));
  for (int from = 0; from < costs.num_devices(); ++from) {
    for (int to = 0; to < costs.num_devices(); ++to) {
      if (from == to) continue;
      costs.set_link(from, to, LinkBetween(costs.device(from).name, costs.device(to).name, between_tasks_));
    }
  }
  return costs;
}

absl::StatusOr<SessionCostPlacement::Unplaced> SessionCostPlacement::PlaceSession(const PlacerOptions& placement,
                                                                                  const SessionTasks& tasks,
                                                                                  Graph* graph) const {
  ASSIGN_OR_RETURN(const ClusterCosts costs, Costs(placement, tasks));
  CostPlacerOptions options{.placement = placement,
                            .costs = &costs,
                            .model = {.heaviest_step_only = true},
                            .counts_live_tensors = false,
                            .most_kernels = most_kernels_};
  ASSIGN_OR_RETURN(CostPlacement placed, PlaceByCost(options, graph));
  return std::move(placed.unplaced);
}

absl::Status SessionCostPlacement::PlaceStep(const PlacerOptions& placement, const SessionTasks& tasks,
                                             const std::function<absl::Status()>& check, Graph* graph,
                                             bool* uses_times) const {
  ASSIGN_OR_RETURN(const ClusterCosts costs, Costs(placement, tasks));
  KernelTimes times;
  {
    MutexLock lock(mu_);
    times = times_;
  }
  CostPlacerOptions options{.placement = placement,
                            .costs = &costs,
                            .model = {.times = &times},
                            .reopens_stateless = true,
                            .counts_live_tensors = false,
                            .most_kernels = most_kernels_,
                            .check = check};
  const std::vector<Node*> nodes = graph->nodes();
  *uses_times =
      std::any_of(nodes.begin(), nodes.end(), [&](const Node* node) { return times.Find(node->name()) != nullptr; });
  return PlaceByCost(options, graph).status();
}

bool SessionCostPlacement::Record(const tensorflow::RunMetadata& metadata) {
  if (!measures_ || (metadata.step_stats().dev_stats_size() == 0 && metadata.cost_graph().node_size() == 0)) {
    return false;
  }
  MutexLock lock(mu_);
  // Statistics are finer than a cost graph's microseconds.
  if (metadata.step_stats().dev_stats_size() > 0) {
    times_.Add(metadata.step_stats());
  } else {
    times_.Add(metadata.cost_graph());
  }
  return true;
}

}  // namespace weir
