// grpc.health.v1.Health, for probes.
#pragma once

#include <vector>

#include "distribute/transport/grpc_server.h"

namespace weir {

// Check returns SERVING for the whole task (an empty name) and for each service that has one of `methods`, and
// NOT_FOUND for other names. During shutdown it is rejected like any call.
ServerMethod HealthCheckMethod(const std::vector<ServerMethod>& methods);

}  // namespace weir
