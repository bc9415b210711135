// How long each algorithm takes, by latency and bandwidth of the links that it uses, and which is the fastest.
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

// `bytes` of CollectiveCall::count elements. The formulas are in docs/collectives.md.
double PredictedSeconds(CollectiveKind kind, Algorithm algorithm, int lanes, double bytes, const Topology& topology);

// With the number of lanes that suits `algorithm` best.
AlgorithmChoice BestLanes(CollectiveKind kind, Algorithm algorithm, double bytes, const Topology& topology);

// Every member gets the same answer to the same question.
AlgorithmChoice ChooseAlgorithm(CollectiveKind kind, double bytes, const Topology& topology);

}  // namespace weir
