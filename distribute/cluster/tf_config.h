// Parses TF_CONFIG: the cluster and this process's task.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/api.h"
#include "core/status.h"
#include "distribute/cluster/cluster_spec.h"

namespace WEIR_API weir {

struct TfConfig {
  ClusterSpec cluster;
  std::string task_type;  // "chief", "master", "worker", "ps", "evaluator", or another job; empty if not given
  int task_index = 0;
  std::string environment;
  std::string rpc_layer = "grpc";

  // True for the task that leads the others: chief, master, or worker 0 if there is neither.
  bool IsChief() const;
};

// The inverse of ParseTfConfig, for a task's cluster, type and index.
std::string TfConfigJson(const TfConfig& config);

// InvalidArgument, which quotes the wrong key and value, for text that is not JSON, values of the wrong type, a cluster
// without the task (except an evaluator), both a chief and a master, or another rpc_layer than grpc.
absl::StatusOr<TfConfig> ParseTfConfig(absl::string_view json);

}  // namespace weir
