// Variables of a task that leaves its cluster.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "client/state_moves/rebalance.h"
#include "core/status.h"
#include "weir/membership.pb.h"

namespace weir {

// Parameter servers, between which variables move automatically: tasks of other jobs hold variables for themselves.
inline constexpr char kParameterServerJob[] = "ps";

// Moves all variables of `task`, which drains, to the others of its job, `options.job`. Returns the one of these that
// has most then, to be the task's successor; empty: there is none, and the variables stay. `options.policy` is ignored.
// Repeats moves that fail, other moves being in progress for example, until `timeout` is over. FAILED_PRECONDITION
// names a variable that cannot leave, and says why; others may have left. `address` is that of any task of the cluster.
// Blocks.
absl::StatusOr<std::string> HandOverVariables(const std::string& address, const std::string& task,
                                              RebalanceOptions options, absl::Duration timeout);

// FAILED_PRECONDITION if the task that serves at `address` has a variable with a value, which it names.
absl::Status CheckHoldsNothing(const std::string& address);

}  // namespace weir
