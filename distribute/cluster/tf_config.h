// The TF_CONFIG environment variable: the cluster, and which of its tasks this process is.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/status.h"
#include "distribute/cluster/cluster_spec.h"

namespace weir {

struct TfConfig {
  ClusterSpec cluster;
  std::string task_type;  // "chief", "master", "worker", "ps", "evaluator", or another job; empty when not given
  int task_index = 0;
  std::string environment;
  std::string rpc_layer = "grpc";

  // The task that the others follow: chief, master, or worker 0 where there is neither.
  bool IsChief() const;
};

// What ParseTfConfig reads: a task's cluster, type and index.
std::string TfConfigJson(const TfConfig& config);

// InvalidArgument, quoting the key and the value at fault, for text that is not JSON, values of the wrong kind, a
// cluster that does not hold the task (an evaluator need not be of it), both a chief and a master, or another rpc_layer
// than grpc.
absl::StatusOr<TfConfig> ParseTfConfig(absl::string_view json);

}  // namespace weir
