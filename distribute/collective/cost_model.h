// Predicts the time of each algorithm from the latency and bandwidth of its links, and chooses the fastest.
#pragma once

#include <cstdint>

#include "distribute/collective/collective.h"
#include "distribute/collective/topology.h"

namespace weir {

struct AlgorithmChoice {
  Algorithm algorithm = Algorithm::kRing;
  int lanes = 1;
  double seconds = 0;
};

// `bytes` of CollectiveCall::count elements. docs/collectives.md has the formulas.
double PredictedSeconds(CollectiveKind kind, Algorithm algorithm, int lanes, double bytes, const Topology& topology);

// With the best number of lanes for `algorithm`.
AlgorithmChoice BestLanes(CollectiveKind kind, Algorithm algorithm, double bytes, const Topology& topology);

// Deterministic: every member gets the same result.
AlgorithmChoice ChooseAlgorithm(CollectiveKind kind, double bytes, const Topology& topology);

}  // namespace weir
