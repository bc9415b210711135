// The tasks of a cluster that train, in one order for all strategies and estimators.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "distribute/cluster/tf_config.h"

namespace weir {

// In the order of their tasks; the first task that exists is the chief.
const std::vector<std::string>& TrainingJobs();

struct TrainingTask {
  int index = 0;  // among the tasks that train
  int count = 0;  // of those tasks
};
// InvalidArgument if the task does not train.
absl::StatusOr<TrainingTask> TrainingTaskOf(const TfConfig& task);

// NotFound if no task trains.
absl::StatusOr<std::string> ChiefAddress(const ClusterSpec& cluster);

}  // namespace weir
