// Tells a process that has ended from one that cannot be reached at the moment.
#pragma once

#include <string>

#include "absl/time/time.h"

namespace weir {

// Whether the host of "host:port" refuses connections to the port: nobody listens there. False if it does not answer
// within `timeout`, and for sockets of the file system.
bool RefusesConnections(const std::string& address, absl::Duration timeout);

}  // namespace weir
