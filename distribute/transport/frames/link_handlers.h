// The handlers of calls that arrive over links.
#pragma once

#include <condition_variable>
#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "core/mutex.h"
#include "distribute/transport/frames/link_methods.h"
#include "distribute/transport/grpc_server.h"

namespace weir {

// Uses the same handlers as gRPC calls. Thread-safe. Outlives its calls.
class LinkHandlers {
 public:
  struct Handler {
    std::function<void(ServerCall*)> handle;
    bool computes = false;
  };

  // Keeps those of `methods` that links carry.
  explicit LinkHandlers(const std::vector<ServerMethod>& methods);

  // Null if links do not carry the method.
  const Handler* Find(uint32_t id) const;
  // Starts a call; false once Reject was called. If true, Leave must follow.
  bool Enter();
  void Leave();
  // Rejects new calls and waits until `deadline` for running ones.
  void Reject();
  void Await(absl::Time deadline);

 private:
  absl::flat_hash_map<uint32_t, Handler> handlers_;
  Mutex mu_;
  std::condition_variable idle_;
  bool rejects_ GUARDED_BY(mu_) = false;
  int active_ GUARDED_BY(mu_) = 0;
};

}  // namespace weir
