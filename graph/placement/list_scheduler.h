// Placement by list scheduling.
#pragma once

#include "graph/placement/cluster_costs.h"
#include "graph/placement/step_model.h"

namespace weir {

// In the manner of HEFT (Topcuoglu, Hariri and Wu 2002): kernels in the order of their upward ranks, which is the mean
// time from their start to the end of the step, each on the device where it ends first, transfers included. The first
// kernel of a unit decides for all, and adds the time of the others. Units whose state does not fit on a device any
// more go elsewhere if they can.
UnitPlacement ScheduleByRank(const StepModel& model, const ClusterCosts& costs);

}  // namespace weir
