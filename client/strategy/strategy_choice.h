// Strategies by name, and the one that suits a task's cluster.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/strategy/strategy.h"
#include "core/api.h"
#include "distribute/cluster/tf_config.h"

namespace WEIR_API weir {

enum class StrategyKind { kOneDevice, kMirrored, kCentralStorage, kParameterServer, kMultiWorkerMirrored };

// "one_device", "mirrored", "central_storage", "parameter_server", "multi_worker_mirrored".
absl::string_view StrategyKindName(StrategyKind kind);
// InvalidArgument, which lists the names, for any other.
absl::StatusOr<StrategyKind> ParseStrategyKind(absl::string_view name);

// kParameterServer for a cluster with job ps, kMultiWorkerMirrored for any other cluster, kMirrored without one.
StrategyKind StrategyKindFor(const ClusterSpec& cluster);

// The strategy for the graph that this task builds; replicas are on `local_devices` of each task.
// - kParameterServer: one graph with the replicas of all workers, which the chief runs.
// - kMultiWorkerMirrored: this task's replicas only; chief and workers each run their own graph.
// - Others: this process's devices. InvalidArgument in a cluster.
absl::StatusOr<std::unique_ptr<Strategy>> MakeStrategy(StrategyKind kind, const Scope& root, const TfConfig& task,
                                                       const std::vector<std::string>& local_devices);

}  // namespace weir
