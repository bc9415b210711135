#include "client/strategy/pipeline_schedule.h"

#include <algorithm>
#include <limits>

namespace weir {

std::vector<PipelineTask> TasksOfStage(PipelineSchedule schedule, int stage, int stages, int micro_batches) {
  // The number of forward micro-batches before the first backward one.
  const int ahead = schedule == PipelineSchedule::kGPipe ? micro_batches : std::min(stages - stage, micro_batches);
  std::vector<PipelineTask> tasks;
  int forward = 0;
  while (forward < ahead) tasks.push_back({true, forward++});
  for (int backward = 0; backward < micro_batches; ++backward) {
    tasks.push_back({false, backward});
    if (forward < micro_batches) tasks.push_back({true, forward++});
  }
  return tasks;
}

absl::StatusOr<std::vector<int>> CutLayers(const std::vector<double>& costs, int stages) {
  const int n = static_cast<int>(costs.size());
  if (stages < 1) return errors::InvalidArgument("A pipeline needs a stage at least");
  if (n < stages) {
    return errors::InvalidArgument("The pipeline has ", stages, " stages, but the model only ", n,
                                   " layers: use at most ", n, " stages");
  }
  std::vector<double> sums(n + 1, 0);
  for (int i = 0; i < n; ++i) sums[i + 1] = sums[i] + costs[i];
  // best[k][i]: the most expensive of k stages that hold the first i layers, and where the last of them begins.
  struct Cut {
    double cost = std::numeric_limits<double>::infinity();
    int begin = 0;
  };
  std::vector<std::vector<Cut>> best(stages + 1, std::vector<Cut>(n + 1));
  best[0][0].cost = 0;
  for (int k = 1; k <= stages; ++k) {
    for (int i = k; i <= n; ++i) {
      for (int begin = k - 1; begin < i; ++begin) {
        const double cost = std::max(best[k - 1][begin].cost, sums[i] - sums[begin]);
        if (cost < best[k][i].cost) best[k][i] = {cost, begin};
      }
    }
  }
  std::vector<int> first(stages);
  for (int k = stages, end = n; k > 0; --k) end = first[k - 1] = best[k][end].begin;
  return first;
}

}  // namespace weir
