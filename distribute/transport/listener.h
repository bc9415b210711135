// Accepting connections.
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

// Accepts for gRPC, which for want of one file would not accept anything any more. Here a connection is closed at once
// where the process has few files left: those are for its work, and the caller learns that it may try again. A peer
// that vanishes without a word is noticed. Owns one thread, from Start on.
class Listener {
 public:
  // Takes over the connection; `listener` is the file that it came by.
  using Handler = std::function<void(int listener, int connection)>;

  // AlreadyExists when the port is taken, which is never shared, InvalidArgument when the address is not one of this
  // machine's, each with the system's reason. Callers wait until Start.
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
