// Algorithms: compute one rank's schedule for a collective. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "distribute/collective/collective.h"
#include "distribute/collective/schedule.h"
#include "distribute/collective/topology.h"

namespace weir {

struct PlanRequest {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  int rank = 0;
  int64_t count = 0;  // as in CollectiveCall
  int root = 0;
  absl::Span<const int> permutation;
  bool divides = false;   // the schedule may divide an all-reduce's result by the call's divisor
  bool in_place = false;  // input and output are the same memory
  int lanes = 1;          // the number of parts into which a pipelined vector is cut
};

// The algorithms for `kind` on this topology; never empty.
std::vector<Algorithm> AlgorithmsFor(CollectiveKind kind, const Topology& topology);

// `request` is valid, and `algorithm` is one of AlgorithmsFor. The schedules of all ranks match, and all ranks that get
// the same result get the same bits.
Schedule MakeSchedule(const PlanRequest& request, const Topology& topology);

}  // namespace weir
