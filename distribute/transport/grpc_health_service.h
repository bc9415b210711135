// grpc.health.v1.Health: whether a task serves, for probes.
#pragma once

#include <vector>

#include "distribute/transport/grpc_server.h"

namespace weir {

// Check is answered with SERVING for the whole task (an empty name) and for each service that has one of `methods`, and
// with NOT_FOUND for others. A server that shuts down refuses it as it does all calls.
ServerMethod HealthCheckMethod(const std::vector<ServerMethod>& methods);

}  // namespace weir
