// In which order the stages of a pipeline work on micro-batches.
#pragma once

#include <vector>

#include "core/status.h"

namespace weir {

enum class PipelineSchedule {
  kGPipe,  // all forward, then all backward (Huang et al. 2019); a stage keeps the activations of all micro-batches
  k1F1B,   // a backward as soon as there is one (Narayanan et al. 2019); stage s of p keeps those of p - s
};

struct PipelineTask {
  bool is_forward = true;
  int micro_batch = 0;
  friend bool operator==(const PipelineTask& a, const PipelineTask& b) {
    return a.is_forward == b.is_forward && a.micro_batch == b.micro_batch;
  }
};

// What stage `stage` of `stages` does, one after the other: each micro-batch forward and backward, in ascending order
// either way, so that gradients add up in the same order whatever the schedule.
std::vector<PipelineTask> TasksOfStage(PipelineSchedule schedule, int stage, int stages, int micro_batches);

// The first layer of each stage, such that the dearest stage is as cheap as can be and none is empty. InvalidArgument
// where there are fewer layers than stages.
absl::StatusOr<std::vector<int>> CutLayers(const std::vector<double>& costs, int stages);

}  // namespace weir
