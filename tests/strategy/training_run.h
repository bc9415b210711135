// One model, trained for some steps under any strategy: what comes out is to be what one device gives.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/optimizer.h"
#include "client/session.h"
#include "client/strategy/strategy.h"

namespace weir {

constexpr int kGlobalBatch = 12;
constexpr int kFeatures = 4;
constexpr int kSteps = 24;

// What each step of all replicas sees: features [12, 4], ids [12] below 6, targets [12, 1].
struct Example {
  Tensor features, ids, targets;
};
Example ExamplesOfStep(int step);

// The initial values of a test's variables: the same in every run.
Tensor Pattern(const TensorShape& shape, float scale);

struct TrainedModel {
  std::vector<float> losses;                // a step each
  std::map<std::string, Tensor> variables;  // after the last, by name
};

// Makes a model's loss within a replica; inputs are features, ids, targets.
using LossFunction = std::function<Output(const ReplicaContext& replica, const OutputList& inputs)>;
using MakeOptimizer = std::function<std::unique_ptr<Optimizer>()>;
using MakeSession = std::function<absl::StatusOr<std::unique_ptr<Session>>(const Scope& scope)>;

// The model in the strategy's graph.
struct Training {
  std::vector<PerReplica> inputs;
  PerReplica losses;
  Output mean_loss;
  ResourceVariable global_step;
  Operation train, initialize;
  std::vector<Output> reads;  // of the scope's variables, in their order
};
absl::StatusOr<Training> BuildTraining(Strategy& strategy, const LossFunction& loss,
                                       const MakeOptimizer& make_optimizer);
// The part of ExamplesOfStep(step) that the replicas of this graph see.
absl::StatusOr<FeedList> FeedsOfStep(const Strategy& strategy, const Training& training, int step);

// Trains for kSteps, all replicas in one graph.
absl::StatusOr<TrainedModel> TrainInGraph(Strategy& strategy, const MakeSession& make_session, const LossFunction& loss,
                                          const MakeOptimizer& make_optimizer);

// The part of one worker with a graph of its own; losses are its own. `start` initialises, or waits until it is done;
// what `beside` gives runs in turn, again and again, while the worker trains.
using StartWorker = std::function<absl::Status(Strategy& strategy, Session& session, const Operation& initialize)>;
absl::StatusOr<TrainedModel> TrainBetweenGraphs(Strategy& strategy, const std::string& target, const LossFunction& loss,
                                                const MakeOptimizer& make_optimizer, const StartWorker& start,
                                                const std::function<std::vector<Operation>(Strategy&)>& beside);

// The models.
Output MlpLoss(const ReplicaContext& replica, const OutputList& inputs);
// Embeds ids: a sparse gradient.
Output EmbeddingLoss(const ReplicaContext& replica, const OutputList& inputs);
// Normalises by a moving mean that each replica moves; counts examples; keeps the mean target of a step.
Output StatisticsLoss(const ReplicaContext& replica, const OutputList& inputs);
// As MlpLoss, but in some steps one replica's gradients are not numbers.
Output FragileLoss(const ReplicaContext& replica, const OutputList& inputs);

// Waits for all workers: the mean of their losses is `expected`'s in every step.
using FutureModel = std::future<absl::StatusOr<TrainedModel>>;
void ExpectMeanLosses(std::vector<FutureModel>& workers, const TrainedModel& expected);
void ExpectSameTraining(const TrainedModel& actual, const TrainedModel& expected, float tolerance = 2e-5F);

}  // namespace weir
