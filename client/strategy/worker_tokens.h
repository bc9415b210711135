// Tokens that allow workers to start steps in synchronous training.
#pragma once

#include <string>
#include <vector>

#include "client/scope.h"

namespace weir {

// One queue per worker with at most one token, so that a worker contributes at most once to an update, however fast it
// is. Shared by name among graphs.
class WorkerTokens {
 public:
  WorkerTokens(const Scope& scope, const std::string& shared_prefix, int num_workers);

  // Waits for a token of `worker` and takes it.
  Operation Take(const Scope& scope, int worker) const;
  // Adds a token for `worker` if it has none.
  Operation Return(const Scope& scope, int worker) const;
  // Adds a token for each worker that has none.
  Operation Refill(const Scope& scope) const;

 private:
  std::vector<Output> queues_;
};

}  // namespace weir
