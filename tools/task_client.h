// Calls of the commands to a task.
#pragma once

#include <string>

#include "core/status.h"
#include "distribute/transport/grpc_channel.h"
#include "weir/status.pb.h"

namespace weir {

// The address in "grpc://HOST:PORT"; InvalidArgument, which quotes the target, for anything else.
absl::StatusOr<std::string> AddressOfTarget(const std::string& target);
// Unimplemented from a task that has no reports.
absl::StatusOr<TaskReport> GetTaskReport(GrpcChannel* channel, const CallOptions& options);

}  // namespace weir
