#include "tools/launch/launch_tasks.h"

#include "distribute/cluster/tf_config.h"

namespace weir {
namespace {

constexpr int kMaxTasks = 1024;

absl::Status Check(const LaunchTasks::Counts& counts) {
  if (counts.workers < 0 || counts.workers > kMaxTasks || counts.parameter_servers < 0 ||
      counts.parameter_servers > kMaxTasks) {
    return errors::InvalidArgument("The number of workers and of parameter servers must be 0 to ", kMaxTasks, ", not ",
                                   counts.workers, " and ", counts.parameter_servers);
  }
  if (counts.workers + (counts.chief ? 1 : 0) == 0) {
    return errors::InvalidArgument("No worker or chief was requested: use -n 1 or more, or --chief");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LaunchTasks>> LaunchTasks::Create(const Counts& counts) {
  RETURN_IF_ERROR(Check(counts));
  std::unique_ptr<LaunchTasks> launch(new LaunchTasks);
  TfConfig config;
  const std::pair<const char*, int> jobs[] = {
      {"chief", counts.chief ? 1 : 0}, {"ps", counts.parameter_servers}, {"worker", counts.workers}};
  for (const auto& [job, size] : jobs) {
    for (int index = 0; index < size; ++index) {
      ASSIGN_OR_RETURN(std::unique_ptr<ReservedPort> port, ReservedPort::Create());
      RETURN_IF_ERROR(config.cluster.AddTask(job, index, port->address()));
      launch->ports_.push_back(std::move(port));
      launch->tasks_.push_back({.job = job, .index = index, .ends_by_itself = absl::string_view(job) != "ps"});
    }
  }
  if (counts.evaluator) launch->tasks_.push_back({.job = "evaluator", .index = 0});
  for (LaunchTask& task : launch->tasks_) {
    config.task_type = task.job;
    config.task_index = task.index;
    task.tf_config = TfConfigJson(config);
  }
  return launch;
}

}  // namespace weir
