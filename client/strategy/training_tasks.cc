#include "client/strategy/training_tasks.h"

#include <optional>

#include "absl/strings/str_join.h"

namespace weir {

const std::vector<std::string>& TrainingJobs() {
  static const auto* const jobs = new std::vector<std::string>{"chief", "master", "worker"};
  return *jobs;
}

absl::StatusOr<TrainingTask> TrainingTaskOf(const TfConfig& task) {
  std::optional<int> own;
  int count = 0;
  for (const std::string& job : TrainingJobs()) {
    const auto found = task.cluster.jobs().find(job);
    if (found == task.cluster.jobs().end()) continue;
    for (const auto& [index, address] : found->second) {
      if (task.task_type == job && task.task_index == index) own = count;
      ++count;
    }
  }
  if (own.has_value()) return TrainingTask{.index = *own, .count = count};
  return errors::InvalidArgument("Task ", task.task_index, " of job ", task.task_type, " does not train; ",
                                 absl::StrJoin(TrainingJobs(), ", "), " do");
}

absl::StatusOr<std::string> ChiefAddress(const ClusterSpec& cluster) {
  for (const std::string& job : TrainingJobs()) {
    const auto found = cluster.jobs().find(job);
    if (found != cluster.jobs().end() && !found->second.empty()) return found->second.begin()->second;
  }
  return errors::NotFound("The cluster has no task of ", absl::StrJoin(TrainingJobs(), ", "));
}

}  // namespace weir
