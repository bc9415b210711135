// A TCP relay that is as slow as a test wants.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/mutex.h"
#include "core/status.h"

namespace weir {

// Relays connections to a port of this machine; its own buffers are small. Thread-safe.
class SlowProxy {
 public:
  // Listens on a free port of the loopback.
  static absl::StatusOr<std::unique_ptr<SlowProxy>> Listen();
  ~SlowProxy();
  SlowProxy(const SlowProxy&) = delete;

  // "127.0.0.1:PORT".
  std::string address() const;
  // Relays to this port from now on.
  void RelayTo(int port);
  // In each direction; 0: nothing passes.
  void SetBytesPerSecond(int64_t rate) { rate_ = rate; }

 private:
  explicit SlowProxy(int listener) : listener_(listener) {}
  void Accept();
  void Relay(int from, int to) const;

  const int listener_;
  std::atomic<int> port_{0};
  std::atomic<int64_t> rate_{int64_t{1} << 40};
  std::atomic<bool> stopping_{false};
  Mutex mu_;
  std::vector<int> sockets_ GUARDED_BY(mu_);
  std::list<std::thread> relays_ GUARDED_BY(mu_);
  std::thread acceptor_;
};

}  // namespace weir
