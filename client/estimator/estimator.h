// A model function with a directory: trains, evaluates and exports it, each in its own graph and session.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/estimator/model.h"
#include "client/estimator/run_config.h"
#include "client/training_hook.h"
#include "core/api.h"
#include "core/status.h"

namespace WEIR_API weir {

class TrainingLoop;

struct TrainOptions {
  int64_t max_steps = 0;  // global step; 0: until the input ends, or a hook stops it
  std::vector<std::shared_ptr<TrainingHook>> hooks;
  // Fetched with each step for the hooks, after the loss, which is fetch 0.
  std::function<std::vector<Output>(const ModelSpec& spec)> fetches;
};

struct EvaluateOptions {
  int64_t steps = 0;       // batches; 0: until the input ends
  std::string checkpoint;  // empty: the newest in the model's directory
};

// The result of an evaluation: "loss" and the model's metrics.
struct Evaluation {
  int64_t global_step = 0;
  std::map<std::string, double> values;
};

// Thread-safe: calls share only the directory.
class Estimator {
 public:
  Estimator(ModelFunction model, RunConfig config) : model_(std::move(model)), config_(std::move(config)) {}

  // Continues from the newest checkpoint. Returns the final global step. In a cluster this process's server runs:
  // - Without a strategy, the chief and each worker step at their own pace on variables of the parameter servers
  //   (asynchronous, between-graph), each with its own shard of the input.
  // - With RunConfig::train_distribute, as the strategy requires. FailedPrecondition for a task that only serves. A
  //   task that starts again after the last step was saved returns at once. Workers that step together need inputs of
  //   as many batches: one whose training ends early, and the others' not within RunConfig::recovery_timeout, fails
  //   with FailedPrecondition.
  absl::StatusOr<int64_t> Train(const InputFunction& input, const TrainOptions& options) const;
  // In this process; divided among devices by RunConfig::eval_distribute. NotFound if there is no checkpoint.
  absl::StatusOr<Evaluation> Evaluate(const InputFunction& input, const EvaluateOptions& options = {}) const;
  // Writes a SavedModel, signature "serving_default", tag "serve", to a new directory in `base`, named by the time.
  // Returns the directory.
  absl::StatusOr<std::string> ExportSavedModel(const std::string& base, const ServingInputFunction& serving,
                                               const std::string& checkpoint = "") const;

  const RunConfig& config() const { return config_; }
  // The newest complete checkpoint; NotFound if there is none.
  absl::StatusOr<std::string> LatestCheckpoint() const;
  // Its global step; -1 if there is none.
  absl::StatusOr<int64_t> SavedStep() const;

 private:
  absl::StatusOr<int64_t> RunTogether(TrainingLoop& loop, Session& session, const Output& everyone,
                                      int64_t max_steps) const;

  const ModelFunction model_;
  const RunConfig config_;
};

}  // namespace weir
