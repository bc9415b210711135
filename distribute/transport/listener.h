// Accepts connections for gRPC.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/status.h"
#include "distribute/cluster/address.h"

struct addrinfo;

namespace weir {

// Accepts connections and hands them to gRPC, whose own listener stops accepting for good after it once ran out of
// files.
// - If few file descriptors are left, a new connection is closed at once, so that the process can go on and the client
//   can retry.
// - Detects peers that vanish without closing their connection.
// - Owns one thread, which Start creates.
class Listener {
 public:
  // Takes ownership of the connection. `listener` is the socket that accepted it.
  using Handler = std::function<void(int listener, int connection)>;

  // AlreadyExists if the port is taken (ports are never shared), InvalidArgument if the address is not this machine's,
  // each with the system's reason. Connections wait in the backlog until Start.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const Address& address);
  ~Listener();
  Listener(const Listener&) = delete;

  // With the port that the system chose.
  const Address& address() const { return address_; }
  absl::Status Start(Handler handler);

 private:
  explicit Listener(Address address) : address_(std::move(address)) {}
  absl::Status OpenUnix();
  absl::Status OpenInternet();
  absl::Status OpenHost(const std::string& host);
  absl::Status ListenOnAll(const addrinfo& found);
  void CloseSockets();
  void Run();
  void AcceptAll(int listener);

  Address address_;
  std::vector<int> sockets_;
  int stop_ = -1;  // an eventfd
  Handler handler_;
  std::thread thread_;
};

}  // namespace weir
