// One planner for each kind of collective, for MakeSchedule. Groups of one rank are handled elsewhere.
#pragma once

#include "distribute/collective/algorithms.h"

namespace weir {

Schedule PlanAllReduce(const PlanRequest& request, const Topology& topology);
Schedule PlanReduceScatter(const PlanRequest& request, const Topology& topology);
Schedule PlanAllGather(const PlanRequest& request, const Topology& topology);
Schedule PlanBroadcast(const PlanRequest& request, const Topology& topology);
Schedule PlanReduce(const PlanRequest& request, const Topology& topology);
Schedule PlanAllToAll(const PlanRequest& request, const Topology& topology);
Schedule PlanBarrier(const PlanRequest& request, const Topology& topology);
Schedule PlanPermute(const PlanRequest& request, const Topology& topology);

}  // namespace weir
