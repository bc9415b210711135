// Builds the model of a step from a graph.
#pragma once

#include <vector>

#include "core/status.h"
#include "graph/graph.h"
#include "graph/placement/cluster_costs.h"
#include "graph/placement/groups.h"
#include "graph/placement/kernel_times.h"
#include "graph/placement/step_model.h"
#include "graph/placement/units.h"

namespace weir {

struct ModelOptions {
  const KernelTimes* times = nullptr;  // nullptr: none were measured
  double loop_iterations = 10;         // assumed for each loop, unless its kernels were measured
  int64_t unknown_dimension = 32;      // stands for dimensions that are not known, such as the batch
  // Only the step that works most counts: the node without consumers whose ancestors have the most work. For a whole
  // graph, which has initialisers and savers too. Otherwise all nodes are the step.
  bool heaviest_step_only = false;
};

// Unit i of the model is unit i of `units`. A kernel's time on a device is
// - as measured there;
// - as measured on another device, in the ratio of what the two are estimated to take;
// - otherwise estimated: max(flops / flops_per_second, bytes / bytes_per_second) + seconds_per_kernel, scaled by how
//   long measured kernels of the device, or else of devices of its type, took against their estimates.
absl::StatusOr<StepModel> BuildStepModel(const ModelOptions& options, const Graph& graph, const ClusterCosts& costs,
                                         const PlacementGroups& groups, const PlacementUnits& units);

}  // namespace weir
