// The time to exchange gradients, simulated and predicted by formulas.
#pragma once

#include "core/status.h"
#include "distribute/collective/collective.h"
#include "distribute/collective/topology.h"

namespace weir::bench {

// In seconds.
struct ExchangeTime {
  double simulated = 0;
  double predicted = 0;
};

// `workers` ranks, `per_host` of them on each host; the last may have fewer.
Topology WorkersOnHosts(int workers, int per_host, LinkCosts costs = {});

// An all-reduce of `bytes`, with the number of lanes that the cost model chooses. The schedules are the runtime's;
// vectors are smaller than `bytes`, on links slowed down by the same factor.
absl::StatusOr<ExchangeTime> AllReduceTime(Algorithm algorithm, double bytes, int workers, int per_host);

// Each worker sends each of `servers` its part of `bytes`. A server, on its own host, sends its part to the workers
// once it has received all of theirs.
ExchangeTime ParameterServerTime(int servers, double bytes, int workers, int per_host);

}  // namespace weir::bench
