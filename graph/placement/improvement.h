// Local improvement of a placement, judged by the simulator.
#pragma once

#include <cstdint>
#include <functional>

#include "core/status.h"
#include "graph/placement/cluster_costs.h"
#include "graph/placement/simulator.h"
#include "graph/placement/step_model.h"

namespace weir {

// Less is better: memory first, then time, then traffic.
struct PlacementScore {
  int64_t excess_bytes = 0;  // beyond the devices' memory, summed
  double seconds = 0;
  int64_t transferred_bytes = 0;

  friend bool operator<(const PlacementScore& a, const PlacementScore& b);
};
PlacementScore ScoreOf(const StepPrediction& step, const ClusterCosts& costs);

struct ImprovementOptions {
  // A bound of the work: kernels that are simulated, over all simulations. It makes the result independent of the
  // machine's speed.
  int64_t most_kernels = 0;
  // Called now and then; an error ends the search. May be empty.
  std::function<absl::Status()> check;
};

// Moves units, and clusters of units that exchange much, coarse ones first, to other devices as long as the score
// falls. Deterministic. Returns the best placement, `start` if no move helps.
absl::StatusOr<UnitPlacement> Improve(const ImprovementOptions& options, const StepModel& model,
                                      const ClusterCosts& costs, UnitPlacement start);

}  // namespace weir
