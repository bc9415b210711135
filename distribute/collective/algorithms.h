// The algorithms: from what is to be done to what one rank does. Pure functions.
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
  bool divides = false;   // what an all-reduce gives may be divided by the call's divisor
  bool in_place = false;  // input and output are the same memory
  int lanes = 1;          // into how many parts a vector is cut that is to be pipelined
};

// The algorithms that can do `kind` among these ranks; never empty.
std::vector<Algorithm> AlgorithmsFor(CollectiveKind kind, const Topology& topology);

// `request` has been checked, and `algorithm` is one of AlgorithmsFor. The schedules of all ranks fit together, and
// every rank that gets the same result gets the same bits.
Schedule MakeSchedule(const PlanRequest& request, const Topology& topology);

}  // namespace weir
