// Configuration of an estimator's runs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "core/api.h"
#include "core/status.h"
#include "distribute/cluster/tf_config.h"

namespace WEIR_API weir {

struct RunConfig {
  std::string model_dir;  // checkpoints, "eval" for events, "export" for models
  // The cluster, and this process's task in it. Without a cluster the process does everything itself.
  TfConfig task;
  int64_t checkpoint_steps = 500;  // 0: not by steps
  absl::Duration checkpoint_interval = absl::InfiniteDuration();
  int max_to_keep = 5;
  absl::Duration keep_every = absl::InfiniteDuration();  // see TrainingLoopOptions
  absl::Duration recovery_timeout = absl::Minutes(5);

  // Starts this process's server; it serves until the result is destroyed.
  std::function<absl::StatusOr<std::shared_ptr<void>>(const TfConfig& task)> start_server;
  // Called by a parameter server: returns when the process is to end.
  std::function<void()> await_stop;

  // An evaluator polls for new checkpoints at this interval, and gives up if none arrives for evaluator_patience.
  absl::Duration evaluator_poll = absl::Seconds(1);
  absl::Duration evaluator_patience = absl::Minutes(10);

  bool is_distributed() const { return !task.cluster.empty(); }
};

}  // namespace weir
