// What lets workers of synchronous training begin their steps.
#pragma once

#include <string>
#include <vector>

#include "client/scope.h"

namespace weir {

// A queue for each worker, with at most one token: a worker takes part in an update once at most, however fast it is.
// They are shared by name among graphs.
class WorkerTokens {
 public:
  WorkerTokens(const Scope& scope, const std::string& shared_prefix, int num_workers);

  // Waits until `worker` has a token, and takes it.
  Operation Take(const Scope& scope, int worker) const;
  // Gives one to each worker that has none.
  Operation Refill(const Scope& scope) const;

 private:
  std::vector<Output> queues_;
};

}  // namespace weir
