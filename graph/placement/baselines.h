// Placements that cost is compared with.
#pragma once

#include "graph/placement/step_model.h"
#include "graph/placement/variable_spread.h"

namespace weir {

// Each unit on its first candidate.
UnitPlacement FirstFit(const StepModel& model);
// Each unit on `device` if that is among its candidates, otherwise on its first one.
UnitPlacement OnDevice(const StepModel& model, int device);
// TensorFlow's: variables with several candidates are spread over them, in the order of the graph, and all else is on
// `worker` if that is possible. Variables that may not be on the device whose turn it is are on their first candidate.
UnitPlacement SpreadVariablesOf(const StepModel& model, SpreadBy by, int worker);

}  // namespace weir
