// How long workers take to exchange gradients, in simulated time and by formulas.
#pragma once

#include "core/status.h"
#include "distribute/collective/collective.h"
#include "distribute/collective/topology.h"

namespace weir::bench {

// Seconds.
struct ExchangeTime {
  double simulated = 0;
  double predicted = 0;
};

// `workers` ranks, `per_host` of them on each host but perhaps the last.
Topology WorkersOnHosts(int workers, int per_host, LinkCosts costs = {});

// An all-reduce of `bytes`, in as many lanes as the cost model says. The schedules are the runtime's; their vectors are
// shorter than `bytes`, on links that are slower by as much.
absl::StatusOr<ExchangeTime> AllReduceTime(Algorithm algorithm, double bytes, int workers, int per_host);

// Each worker sends every one of `servers` its part of `bytes`. A server, which has a host of its own, sends the
// workers its part when it has that of each.
ExchangeTime ParameterServerTime(int servers, double bytes, int workers, int per_host);

}  // namespace weir::bench
