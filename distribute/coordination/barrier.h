// Barriers: tasks that wait for each other.
#pragma once

#include <string>
#include <vector>

#include "distribute/coordination/store.h"

namespace weir::coordination {

struct BarrierOptions {
  std::string name;                       // a key prefix with no other use
  std::vector<std::string> participants;  // equal for all
  std::string self;                       // one of them
};

// Returns OK, to all participants, once every participant has called it. Otherwise all that wait get an error:
// - ABORTED, which names the missing one, if another participant loses its lease or gives up;
// - DEADLINE_EXCEEDED or CANCELLED for the one that gives up;
// - FAILED_PRECONDITION if the caller's own lease is lost.
// One decision is written to the store, and all participants follow it. The name can then be reused, for the next round
// or a retry: early participants wait until all have left the last round.
//
// Each participant reads all others' keys: suitable for hundreds, not thousands. May return up to a second after its
// deadline, the time to notify the others.
absl::Status AwaitBarrier(Store& store, Lease& lease, const BarrierOptions& barrier, const CallOptions& options);

}  // namespace weir::coordination
