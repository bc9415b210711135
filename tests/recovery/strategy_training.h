// A training by a strategy with one graph, on a cluster of processes that loses a task.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "client/strategy/strategy.h"
#include "client/training_loop.h"
#include "distribute/cluster/cluster_spec.h"
#include "tests/recovery/faults.h"
#include "tests/strategy/training_run.h"

namespace weir {

struct StrategyMode {
  std::string name;
  std::map<std::string, int> jobs;
  std::function<absl::StatusOr<std::unique_ptr<Strategy>>(const Scope& root, const ClusterSpec& cluster)> make;
  LossFunction loss = EmbeddingLoss;
  MakeOptimizer make_optimizer = [] { return AdamOptimizer(0.02); };
  // Of the loop: kChief reads the global step, which then need not advance by one.
  TrainingRole role = TrainingRole::kOnly;
  bool restore_after_failure = false;
};

struct StrategyOutcome {
  int64_t global_step = 0;
  int num_recoveries = 0;
  std::map<std::string, Tensor> variables;  // by name
};

// To kSteps, with a checkpoint every five steps. The losses are finite. Errors name the fault.
absl::StatusOr<StrategyOutcome> TrainUnderLoss(const StrategyMode& mode, Fault fault);

}  // namespace weir
