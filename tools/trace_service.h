// weir.TraceService of a task.
#pragma once

#include <string>
#include <vector>

#include "distribute/membership/cluster_membership.h"
#include "distribute/transport/grpc_server.h"
#include "distribute/transport/task_channels.h"
#include "weir/trace.pb.h"

namespace weir {

class StepTracer;

// Lets a client that reaches one task trace the steps of all masters of the cluster: calls for other tasks are passed
// on. Thread-safe.
class TraceService {
 public:
  // Both are those of the task, and outlive the server that serves the methods, as this does.
  TraceService(const ClusterMembership* membership, StepTracer* tracer);
  ~TraceService();

  std::vector<ServerMethod> Methods();

 private:
  absl::Status TraceSteps(const CallOptions& options, const TraceStepsRequest& request, TraceStepsResponse* response);

  const ClusterMembership* const membership_;
  const std::string task_;
  StepTracer* const tracer_;
  TaskChannels channels_;
};

}  // namespace weir
