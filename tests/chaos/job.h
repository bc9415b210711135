// The training job that faults disturb: its final state depends on nothing but its number of steps.
#pragma once

#include <string>
#include <vector>

#include "client/scope.h"
#include "client/session.h"
#include "client/variables.h"

namespace weir::chaos {

inline constexpr int kServers = 2, kWorkers = 2;

// Synchronous training of a small network on /job:worker tasks, whose variables, Adam's included, are on /job:ps tasks.
// - Each worker reads its examples with an iterator: a shuffled, repeated range of ids. Features are functions of an
// id.
// - Beside its update each step appends the ids of its examples to a ledger on the last parameter server.
struct Job {
  Operation train;  // one step; advances the global step
  ResourceVariable global_step;
  std::vector<Output> ids;  // to be fed; of a worker each
};

Job BuildJob(const Scope& scope, int64_t steps);
// For the step after `global_step`.
FeedList FeedsOf(const Job& job, int64_t global_step);

}  // namespace weir::chaos
