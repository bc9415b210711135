// What serves the calls of links.
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

// The same handlers that serve the calls of gRPC. Thread-safe. Outlives its calls.
class LinkHandlers {
 public:
  struct Handler {
    std::function<void(ServerCall*)> handle;
    bool computes = false;
  };

  // Takes those of `methods` that links carry.
  explicit LinkHandlers(const std::vector<ServerMethod>& methods);

  // Null for a method that links do not carry.
  const Handler* Find(uint32_t id) const;
  // A call begins, unless none are served any more; then Leave must follow.
  bool Enter();
  void Leave();
  // Refuses new calls, and gives those under way until `deadline`.
  void Refuse();
  void Await(absl::Time deadline);

 private:
  absl::flat_hash_map<uint32_t, Handler> handlers_;
  Mutex mu_;
  std::condition_variable idle_;
  bool refuses_ GUARDED_BY(mu_) = false;
  int active_ GUARDED_BY(mu_) = 0;
};

}  // namespace weir
