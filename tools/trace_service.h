// weir.TraceService of a task.
#pragma once

#include <string>
#include <vector>

#include "distribute/cluster/cluster_spec.h"
#include "distribute/transport/grpc_server.h"
#include "distribute/transport/task_channels.h"
#include "weir/trace.pb.h"

namespace weir {

class StepTracer;

// Lets a client that reaches one task trace the steps of all masters of the cluster: calls for other tasks are passed
// on. Thread-safe.
class TraceService {
 public:
  // `tracer` is that of `task`, and outlives the server that serves the methods, as this does.
  TraceService(std::string task, const ClusterSpec& cluster, StepTracer* tracer);
  ~TraceService();

  std::vector<ServerMethod> Methods();

 private:
  absl::Status TraceSteps(const CallOptions& options, const TraceStepsRequest& request, TraceStepsResponse* response);

  const std::string task_;
  StepTracer* const tracer_;
  TaskChannels channels_;
};

}  // namespace weir
