// Names of the peers of sockets and of gRPC's connections.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace weir {

// "1.2.3.4:5", "[::1]:5", without a scope ("%eth0"); "unix" for all Unix sockets. Empty if the socket has no peer.
std::string PeerOfSocket(int socket);
// The same of a connection in gRPC's words, "ipv4:1.2.3.4:5".
std::string PeerOfConnection(absl::string_view connection);

}  // namespace weir
