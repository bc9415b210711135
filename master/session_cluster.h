// The cluster that a session defines in its ConfigProto.cluster_def.
#pragma once

#include <string>

#include "core/status.h"
#include "distribute/cluster/cluster_spec.h"
#include "tensorflow/core/protobuf/cluster.pb.h"
#include "tensorflow/core/protobuf/tensorflow_server.pb.h"

namespace weir {

// A value.
struct SessionCluster {
  ClusterSpec spec;
  std::string local_task;     // the master's
  std::string local_address;  // where the client found the master

  // The master is the task at `target`, the session's. InvalidArgument unless that is exactly one task, with a name
  // other than `started_as`, the one that the master was started with.
  static absl::StatusOr<SessionCluster> Find(const tensorflow::ClusterDef& def, const std::string& target,
                                             const std::string& started_as);
  // The cluster as `task` sees it. NotFound if it has no such task.
  absl::Status Describe(const std::string& task, tensorflow::ServerDef* server) const;
};

}  // namespace weir
