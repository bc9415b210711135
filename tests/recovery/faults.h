// Faults of a cluster's tasks, at a step of a training loop.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "client/training_hook.h"
#include "distribute/cluster/process_cluster.h"

namespace weir {

enum class Fault {
  kNone,
  kKill,        // a random task, but not the master's, is killed; it starts again
  kStop,        // a random task, but not the master's, is stopped until the step has failed, and then continues
  kKillMaster,  // the master's task is killed; it starts again
};
std::string FaultName(Fault fault);

// The tasks of a cluster that starts killed tasks again; worker 0 is the master.
class FaultHook : public TrainingHook {
 public:
  // `cluster` outlives it. The victim and the step are chosen by chance; description() has them.
  FaultHook(Fault fault, ProcessCluster* cluster, const std::map<std::string, int>& jobs, int64_t first_step,
            int64_t last_step);
  ~FaultHook() override;

  // A kill happens while one of the next steps runs, and before the third.
  absl::StatusOr<bool> AfterStep(Session& session, const StepReport& report) override;
  void Failed(const absl::Status& cause, int64_t global_step) override;
  void Recovered(const RecoveryReport& report) override { ++num_recoveries_; }

  const std::string& description() const { return description_; }
  int num_recoveries() const { return num_recoveries_; }

 private:
  const Fault fault_;
  ProcessCluster* const cluster_;
  int64_t step_ = 0;
  std::pair<std::string, int> victim_;
  std::string description_;
  bool is_done_ = false, is_stopped_ = false;
  int num_recoveries_ = 0;
  std::future<void> kill_;
};

}  // namespace weir
