// Placement by cost, as an option of a session.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "core/status.h"
#include "graph/graph.h"
#include "graph/placement/cluster_costs.h"
#include "graph/placement/kernel_times.h"
#include "graph/placer.h"
#include "master/session_tasks.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {

// The name in RewriterConfig's custom_optimizers that enables it. Its parameters, all optional:
//   devices   string  what some devices can do, in the form of ParseDeviceCosts; others have the estimates below
//   link      string  the cost of every transfer between tasks, in the form of ParseTransferCost
//   measured  bool    whether traced steps count; true unless the session is deterministic
//   effort    int     millions of kernels to simulate for one placement, 1 to 1000; 2
inline constexpr char kCostPlacementOptimizer[] = "CostPlacement";

// Estimates for devices that nobody has described: of the order of a server's core, and of a GPU of 2020. The first
// traced step corrects them. Between tasks a transfer takes LinkCosts::between_hosts
// (distribute/collective/topology.h).
inline constexpr double kCpuFlopsPerThread = 20e9;
inline constexpr double kCpuBytesPerSecond = 15e9;
inline constexpr double kGpuFlops = 15e12;
inline constexpr double kGpuBytesPerSecond = 600e9;
inline constexpr double kKernelSeconds = 2e-6;
inline constexpr int kUnknownThreads = 4;  // of a task that does not report them
// Between a GPU and another device of its task. CPU devices of one task share their tensors.
inline constexpr TransferCost kGpuLink{.latency = 10e-6, .seconds_per_byte = 1 / 10e9};

// A device as its task describes it: type, memory limit, number of threads. The memory limit that CPU devices report
// is a nominal one, as TensorFlow's, and does not count.
DeviceCosts EstimatedCosts(const DeviceName& name, const tensorflow::DeviceAttributes& attributes);

// Thread-safe.
class SessionCostPlacement {
 public:
  using Unplaced = absl::flat_hash_map<std::string, absl::Status>;

  // Null if the session does not ask for it. INVALID_ARGUMENT names a parameter that does not exist or is wrong.
  static absl::StatusOr<std::unique_ptr<SessionCostPlacement>> FromConfig(const tensorflow::ConfigProto& config);

  // INVALID_ARGUMENT if the parameter `devices` names one that there is not.
  absl::Status CheckDevices(const SessionTasks& tasks) const;

  // Instead of PlaceGraph, for the session's graph: nodes without a device get one. Depends on no measurement, so that
  // a master that restarts finds variables where they are. RESOURCE_EXHAUSTED if variables do not fit into memory.
  absl::StatusOr<Unplaced> PlaceSession(const PlacerOptions& placement, const SessionTasks& tasks, Graph* graph) const;
  // For the graph of a step, which is placed: places its stateless nodes anew, by measured times where there are some.
  // Sets `uses_times` if there are.
  absl::Status PlaceStep(const PlacerOptions& placement, const SessionTasks& tasks,
                         const std::function<absl::Status()>& check, Graph* graph, bool* uses_times) const;
  // Learns from the statistics of a step. False if it has none, or they do not count.
  bool Record(const tensorflow::RunMetadata& metadata);

 private:
  SessionCostPlacement() = default;
  absl::StatusOr<ClusterCosts> Costs(const PlacerOptions& placement, const SessionTasks& tasks) const;

  std::vector<DeviceCosts> described_;
  TransferCost between_tasks_;
  bool measures_ = true;
  int64_t most_kernels_ = 2'000'000;
  mutable Mutex mu_;
  KernelTimes times_ GUARDED_BY(mu_);
};

}  // namespace weir
