// Tasks that wait for each other, by name.
#pragma once

#include <string>
#include <vector>

#include "distribute/coordination/store.h"

namespace weir::coordination {

struct BarrierOptions {
  std::string name;                       // a prefix of keys that nothing else uses
  std::vector<std::string> participants;  // the same for all
  std::string self;                       // one of them
};

// Returns OK when every participant has called it, for all of them, or an error for all that wait: ABORTED, naming who
// is missing, when another's lease is lost or another gives up; DEADLINE_EXCEEDED or CANCELLED for the one that gives
// up; FAILED_PRECONDITION when the caller's own lease is lost. One decision is written to the store and everybody
// follows it. Afterwards the same name serves again, for a next round or for another try: who comes early waits until
// all have left the last one.
//
// Everybody reads what everybody writes: for hundreds of participants, not for thousands. May return a second after
// its deadline, which is for telling the others.
absl::Status AwaitBarrier(Store& store, Lease& lease, const BarrierOptions& barrier, const CallOptions& options);

}  // namespace weir::coordination
