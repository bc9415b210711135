// The connections that a server has accepted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/mutex.h"

namespace weir {

// Tells whether a connection that was handed to gRPC is still open: gRPC closes the socket when the peer does, or when
// the peer is found dead, and reports neither. Thread-safe; never blocks.
// - A connection is named as ServerCall::connection() names it: by its remote address.
// - Clients on a Unix socket have no address. They share one name, which is open while one of them is connected.
class OpenConnections {
 public:
  // Before gRPC gets the socket.
  void Add(int socket);
  bool IsOpen(absl::string_view connection) const;

 private:
  // The system never reuses a socket's cookie, but reuses file descriptors.
  struct Socket {
    int file = -1;
    uint64_t cookie = 0;
  };
  static bool IsOpen(const Socket& socket);
  void RemoveClosed() REQUIRES(mu_);

  mutable Mutex mu_;
  absl::flat_hash_map<std::string, std::vector<Socket>> sockets_ GUARDED_BY(mu_);  // by address
  size_t num_sockets_ GUARDED_BY(mu_) = 0;
  size_t remove_at_ GUARDED_BY(mu_) = 64;
};

}  // namespace weir
