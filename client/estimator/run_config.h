// Where and how an estimator runs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "core/status.h"
#include "distribute/cluster/tf_config.h"

namespace weir {

struct RunConfig {
  std::string model_dir;  // checkpoints, "eval" for events, "export" for models
  // Of which cluster this process is which task. Without a cluster it does all by itself.
  TfConfig task;
  int64_t checkpoint_steps = 500;  // 0: not by steps
  absl::Duration checkpoint_interval = absl::InfiniteDuration();
  int max_to_keep = 5;
  absl::Duration recovery_timeout = absl::Minutes(5);

  // Makes this process a task of its cluster; it serves until what is returned is destroyed.
  std::function<absl::StatusOr<std::shared_ptr<void>>(const TfConfig& task)> start_server;
  // What a parameter server does besides: returns when the process is to end.
  std::function<void()> await_stop;

  // An evaluator looks for a new checkpoint that often, and gives up when none has come for so long.
  absl::Duration evaluator_poll = absl::Seconds(1);
  absl::Duration evaluator_patience = absl::Minutes(10);

  bool is_distributed() const { return !task.cluster.empty(); }
};

}  // namespace weir
