// Configuration of an estimator's runs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "client/scope.h"
#include "client/strategy/strategy.h"
#include "core/api.h"
#include "core/status.h"
#include "distribute/cluster/tf_config.h"

namespace WEIR_API weir {

// Makes the strategy of a graph that `task` builds, in the graph's root scope: MakeStrategy, say.
using StrategyFactory =
    std::function<absl::StatusOr<std::unique_ptr<Strategy>>(const Scope& root, const TfConfig& task)>;

struct RunConfig {
  std::string model_dir;  // checkpoints, "export" for models
  // TensorBoard's events: the chief's here, those of evaluations in "eval". Empty: model_dir.
  std::string log_dir;
  int64_t summary_steps = 100;  // between summaries: the loss, the speed, and ModelSpec::summaries; 0: none
  int64_t profile_steps = 0;    // between profiles of a step (ProfileHook), in log_dir; 0: none
  // The cluster, and this process's task in it. Without a cluster the process does everything itself.
  TfConfig task;
  // Replicates training; the model function then returns an optimizer instead of a training operation. Called with
  // `task`. If the strategy has the replicas of all tasks in one graph (parameter servers), the chief drives them, and
  // the other tasks only serve. Otherwise (collectives) chief and workers step together. Null: see Estimator::Train.
  StrategyFactory train_distribute;
  // Divides the batches of an evaluation among devices of the process that evaluates. Called without a cluster.
  StrategyFactory eval_distribute;
  int64_t checkpoint_steps = 500;  // 0: not by steps
  absl::Duration checkpoint_interval = absl::InfiniteDuration();
  int max_to_keep = 5;
  absl::Duration keep_every = absl::InfiniteDuration();  // see TrainingLoopOptions
  absl::Duration recovery_timeout = absl::Minutes(5);

  // Starts this process's server; it serves until the result is destroyed.
  std::function<absl::StatusOr<std::shared_ptr<void>>(const TfConfig& task)> start_server;
  // Called by a parameter server without a strategy: returns when the process is to end.
  std::function<void()> await_stop;

  // An evaluator, and a task that serves until training has ended, poll for new checkpoints at this interval. An
  // evaluator gives up if none arrives for evaluator_patience.
  absl::Duration evaluator_poll = absl::Seconds(1);
  absl::Duration evaluator_patience = absl::Minutes(10);

  const std::string& log_directory() const { return log_dir.empty() ? model_dir : log_dir; }
  bool is_distributed() const { return !task.cluster.empty(); }
};

}  // namespace weir
