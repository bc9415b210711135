// Places nodes where a step takes least time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/status.h"
#include "graph/graph.h"
#include "graph/placement/cluster_costs.h"
#include "graph/placement/groups.h"
#include "graph/placement/model_builder.h"
#include "graph/placement/simulator.h"
#include "graph/placement/step_model.h"
#include "graph/placement/units.h"
#include "graph/placer.h"

namespace weir {

struct CostPlacerOptions {
  PlacerOptions placement;              // in whose way the graph is placed first
  const ClusterCosts* costs = nullptr;  // of placement.devices
  ModelOptions model;
  // Also places stateless nodes anew that have a device already, as their requests allow. Nodes with state, and those
  // that Weir added, whose ops begin with '_', stay.
  bool reopens_stateless = false;
  // Whether live tensors must fit into the devices' memory, or variables and constants alone.
  bool counts_live_tensors = true;
  int64_t most_kernels = 10'000'000;    // ImprovementOptions
  std::function<absl::Status()> check;  // ImprovementOptions
};

struct SimulatedPlacement {
  std::string name;
  UnitPlacement devices;
  StepPrediction step;
};

struct CostPlacement {
  absl::flat_hash_map<std::string, absl::Status> unplaced;  // as PlaceGraph's
  PlacementGroups groups;
  PlacementUnits units;
  StepModel model;
  SimulatedPlacement chosen;
  // What `chosen` is at least as good as: "first fit", "single device" (the best), "round-robin" and "greedy" (each
  // with the best worker).
  std::vector<SimulatedPlacement> others;
};

// Sets the assigned device of every node that has none, as PlaceGraph does, but chooses among a unit's candidates
// (units.h) by the simulated time of the step. Deterministic.
// - The start is the best of the placements in `others` and a list schedule; local improvement follows. A step is never
//   slower than with any of `others`, unless these exceed a device's memory.
// - RESOURCE_EXHAUSTED, naming devices and the largest units there, if no placement was found that fits. The graph is
//   unchanged then, as after every error.
absl::StatusOr<CostPlacement> PlaceByCost(const CostPlacerOptions& options, Graph* graph);

}  // namespace weir
