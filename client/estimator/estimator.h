// A model function with a directory: trains, evaluates and exports, each in a graph and a session of its own.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/estimator/model.h"
#include "client/estimator/run_config.h"
#include "client/training_hook.h"
#include "core/status.h"

namespace weir {

struct TrainOptions {
  int64_t max_steps = 0;  // of the global step; 0: until the input ends, or a hook stops it
  std::vector<std::shared_ptr<TrainingHook>> hooks;
  // Fetched with each step for the hooks, after the loss, which is fetch 0.
  std::function<std::vector<Output>(const ModelSpec& spec)> fetches;
};

struct EvaluateOptions {
  int64_t steps = 0;       // batches; 0: until the input ends
  std::string checkpoint;  // empty: the newest of the model's directory
};

// What an evaluation gave: "loss", and the model's metrics.
struct Evaluation {
  int64_t global_step = 0;
  std::map<std::string, double> values;
};

// Thread-safe: calls share nothing but the directory.
class Estimator {
 public:
  Estimator(ModelFunction model, RunConfig config) : model_(std::move(model)), config_(std::move(config)) {}

  // Goes on from the newest checkpoint. As the chief or a worker of a cluster, whose server runs in this process: each
  // steps at its own pace, on variables that the parameter servers hold (asynchronous, between-graph), and takes its
  // own shard of the input. Returns the global step that was reached.
  absl::StatusOr<int64_t> Train(const InputFunction& input, const TrainOptions& options) const;
  // In this process. NotFound when there is no checkpoint.
  absl::StatusOr<Evaluation> Evaluate(const InputFunction& input, const EvaluateOptions& options = {}) const;
  // Writes a SavedModel, signature "serving_default", tag "serve", into a new directory of `base`, named by the time.
  // Returns the directory.
  absl::StatusOr<std::string> ExportSavedModel(const std::string& base, const ServingInputFunction& serving,
                                               const std::string& checkpoint = "") const;

  const RunConfig& config() const { return config_; }
  // The newest complete checkpoint; NotFound when there is none.
  absl::StatusOr<std::string> LatestCheckpoint() const;

 private:
  ModelContext ContextFor(const Scope& scope, ModelUse use) const;

  const ModelFunction model_;
  const RunConfig config_;
};

}  // namespace weir
