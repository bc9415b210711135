// The order in which pipeline stages process micro-batches.
#pragma once

#include <vector>

#include "core/api.h"
#include "core/status.h"

namespace WEIR_API weir {

enum class PipelineSchedule {
  kGPipe,  // all forward, then all backward (Huang et al. 2019); a stage keeps the activations of all micro-batches
  k1F1B,   // a backward as soon as possible (Narayanan et al. 2019); stage s of p keeps those of p - s
};

struct PipelineTask {
  bool is_forward = true;
  int micro_batch = 0;
  friend bool operator==(const PipelineTask& a, const PipelineTask& b) {
    return a.is_forward == b.is_forward && a.micro_batch == b.micro_batch;
  }
};

// The tasks of stage `stage` of `stages`, in order: each micro-batch forward and backward, both in ascending order, so
// that gradients are summed in the same order under any schedule.
std::vector<PipelineTask> TasksOfStage(PipelineSchedule schedule, int stage, int stages, int micro_batches);

// The first layer of each stage, minimising the cost of the most expensive stage; no stage is empty. InvalidArgument if
// there are fewer layers than stages.
absl::StatusOr<std::vector<int>> CutLayers(const std::vector<double>& costs, int stages);

}  // namespace weir
