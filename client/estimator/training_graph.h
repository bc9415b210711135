// The graph of an estimator's training or evaluation, with or without a strategy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/data/iterator.h"
#include "client/estimator/model.h"
#include "client/estimator/run_config.h"
#include "client/saveable.h"

namespace weir {

// The number of tasks of a job; 0 if there is no such job.
int TasksOf(const ClusterSpec& cluster, const std::string& job);
// InvalidArgument, naming the part of a model, unless it is a float.
absl::Status CheckScalar(const Output& output, const std::string& name);
// "/job:worker/task:1".
std::string DeviceOf(const TfConfig& task);
// The context of a model function without a strategy.
ModelContext MakeModelContext(const RunConfig& config, const Scope& scope, ModelUse use);

// The processes that train.
enum class TrainingMode {
  kAlone,          // this one
  kIndependent,    // chief and workers step at their own pace, on variables of job ps
  kSynchronised,   // chief and workers step together, each with its own graph
  kDrivenByChief,  // the chief runs all replicas; the other tasks only serve
};
absl::StatusOr<TrainingMode> TrainingModeOf(const RunConfig& config);

// The replicas' models, in one graph.
struct ReplicatedModel {
  std::unique_ptr<Strategy> strategy;
  std::vector<ModelSpec> replicas;  // of this graph
  ResourceVariable global_step;
  std::vector<DataIterator> inputs;  // one for each task with replicas
};
// The replicas of a task share an iterator: each step takes one batch for each, `in_turn` or in any order.
absl::StatusOr<ReplicatedModel> BuildReplicatedModel(const StrategyFactory& factory, const TfConfig& task,
                                                     const ModelFunction& model, const InputFunction& input,
                                                     ModelUse use, bool in_turn);

struct TrainingGraph {
  Scope root = Scope::NewRoot();
  std::unique_ptr<Strategy> strategy;  // null: none
  ModelSpec spec;                      // with a strategy the first replica's, with the mean loss of all
  Operation train;
  ResourceVariable global_step;
  std::vector<Saveable> positions;  // of the input
  Output everyone;                  // kSynchronised: a step that all training tasks have to run together
};
absl::StatusOr<TrainingGraph> BuildTrainingGraph(const RunConfig& config, TrainingMode mode, const ModelFunction& model,
                                                 const InputFunction& input);

}  // namespace weir
