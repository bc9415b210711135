#include "tests/strategy/training_run.h"

#include <cmath>

#include "client/layers.h"
#include "client/ops.h"
#include "client/strategy/chief_thread.h"
#include "client/strategy/parameter_server_strategy.h"
#include "client/strategy/per_replica_feeds.h"
#include "core/testing.h"

namespace weir {
namespace {

// Rows first … first + count of `batch`.
Tensor Rows(const Tensor& batch, int first, int count) {
  const int64_t width = batch.NumElements() / batch.dim_size(0);
  TensorShape shape = batch.shape();
  EXPECT_THAT(shape.SetDim(0, count), IsOk());
  Tensor rows(batch.dtype(), shape);
  for (int64_t i = 0; i < count * width; ++i) {
    if (batch.dtype() == DT_FLOAT) {
      rows.data<float>()[i] = batch.data<float>()[first * width + i];
    } else {
      rows.data<int32_t>()[i] = batch.data<int32_t>()[first * width + i];
    }
  }
  return rows;
}

layers::LayerOptions From(const TensorShape& weights, float scale) {
  layers::LayerOptions options;
  options.weights = initializers::Value(Pattern(weights, scale));
  return options;
}

Output MeanSquares(const Scope& scope, const Output& predicted, const Output& targets) {
  return ops::Mean(scope, ops::SquaredDifference(scope, predicted, targets), Tensor::Vector<int32_t>({0, 1}));
}

}  // namespace

Tensor Pattern(const TensorShape& shape, float scale) {
  Tensor value(DT_FLOAT, shape);
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    value.data<float>()[i] = scale * std::sin(static_cast<float>(i) * 1.7F + 0.3F);
  }
  return value;
}

Example ExamplesOfStep(int step) {
  Example example{Tensor(DT_FLOAT, TensorShape({kGlobalBatch, kFeatures})),
                  Tensor(DT_INT32, TensorShape({kGlobalBatch})), Tensor(DT_FLOAT, TensorShape({kGlobalBatch, 1}))};
  for (int i = 0; i < kGlobalBatch; ++i) {
    const int n = step * kGlobalBatch + i;
    float sum = 0;
    for (int j = 0; j < kFeatures; ++j) {
      const float x = std::sin(static_cast<float>(n * kFeatures + j) * 0.9F) + 0.5F;
      example.features.data<float>()[i * kFeatures + j] = x;
      sum += x * static_cast<float>(j - 1);
    }
    example.ids.data<int32_t>()[i] = (n * n + i) % 6;
    example.targets.data<float>()[i] = sum + static_cast<float>(example.ids.data<int32_t>()[i]) * 0.2F;
  }
  return example;
}

absl::StatusOr<Training> BuildTraining(Strategy& strategy, const LossFunction& loss,
                                       const MakeOptimizer& make_optimizer) {
  const Scope& scope = strategy.Scope();
  Training training;
  training.global_step = GlobalStep(scope);
  for (const DataType dtype : {DT_FLOAT, DT_INT32, DT_FLOAT}) {
    training.inputs.push_back(Placeholders(strategy, dtype));
  }
  const auto function = [&](const ReplicaContext& replica, const OutputList& own) {
    return OutputList{loss(replica, own)};
  };
  const std::vector<PerReplica> results = strategy.Run(function, training.inputs);
  RETURN_IF_ERROR(scope.status());
  training.losses = results[0];
  training.mean_loss = strategy.Reduce(ReduceOp::kMean, results[0]);
  const std::unique_ptr<Optimizer> optimizer = make_optimizer();
  training.train = strategy.Minimize(*optimizer, results[0], training.global_step);
  training.initialize = InitializeAll(scope);
  for (const ResourceVariable& variable : scope.variables()) training.reads.push_back(variable.Read(scope));
  RETURN_IF_ERROR(scope.status());
  return training;
}

absl::StatusOr<FeedList> FeedsOfStep(const Strategy& strategy, const Training& training, int step) {
  const Example example = ExamplesOfStep(step);
  const Tensor* parts[] = {&example.features, &example.ids, &example.targets};
  const int size = kGlobalBatch / strategy.num_replicas();
  const int rows = size * training.inputs[0].size(), first = size * strategy.first_replica();
  FeedList feeds;
  for (int k = 0; k < 3; ++k) {
    ASSIGN_OR_RETURN(FeedList own, SplitBatch(training.inputs[k], Rows(*parts[k], first, rows)));
    feeds.insert(feeds.end(), own.begin(), own.end());
  }
  return feeds;
}

namespace {

absl::StatusOr<TrainedModel> Steps(const Strategy& strategy, Session& session, const Training& training,
                                   const Output& loss) {
  TrainedModel trained;
  for (int step = 0; step < kSteps; ++step) {
    ASSIGN_OR_RETURN(const FeedList feeds, FeedsOfStep(strategy, training, step));
    ASSIGN_OR_RETURN(const std::vector<Tensor> fetched, session.Run(feeds, {loss}, {training.train}));
    trained.losses.push_back(fetched[0].scalar<float>());
  }
  ASSIGN_OR_RETURN(const std::vector<Tensor> values, session.Run(training.reads));
  const auto& variables = strategy.Scope().variables();
  for (size_t i = 0; i < values.size(); ++i) trained.variables[variables[i].name()] = values[i];
  return trained;
}

}  // namespace

absl::StatusOr<TrainedModel> TrainInGraph(Strategy& strategy, const MakeSession& make_session, const LossFunction& loss,
                                          const MakeOptimizer& make_optimizer) {
  ASSIGN_OR_RETURN(const Training training, BuildTraining(strategy, loss, make_optimizer));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, make_session(strategy.Scope()));
  RETURN_IF_ERROR(session->RunTargets({training.initialize}));
  if (const auto* ps = dynamic_cast<ParameterServerStrategy*>(&strategy); ps != nullptr && ps->start().valid()) {
    RETURN_IF_ERROR(session->RunTargets({ps->start()}));
  }
  return Steps(strategy, *session, training, training.mean_loss);
}

absl::StatusOr<TrainedModel> TrainBetweenGraphs(Strategy& strategy, const std::string& target, const LossFunction& loss,
                                                const MakeOptimizer& make_optimizer, const StartWorker& start,
                                                const std::function<std::vector<Operation>(Strategy&)>& beside) {
  ASSIGN_OR_RETURN(const Training training, BuildTraining(strategy, loss, make_optimizer));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Connect(target, strategy.Scope()));
  RETURN_IF_ERROR(start(strategy, *session, training.initialize));
  const std::vector<Operation> of_chief = beside(strategy);
  std::optional<ChiefThread> chief;
  if (!of_chief.empty()) chief.emplace(session.get(), of_chief);
  return Steps(strategy, *session, training, training.losses[0]);
}

Output MlpLoss(const ReplicaContext& replica, const OutputList& inputs) {
  const Scope& scope = replica.scope();
  const layers::Dense hidden(scope.WithName("hidden"), kFeatures, 8, layers::Activation::kTanh,
                             From(TensorShape({kFeatures, 8}), 0.4F));
  const layers::Dense out(scope.WithName("out"), 8, 1, layers::Activation::kNone, From(TensorShape({8, 1}), 0.5F));
  return MeanSquares(scope, out(scope, hidden(scope, inputs[0])), inputs[2]);
}

Output EmbeddingLoss(const ReplicaContext& replica, const OutputList& inputs) {
  const Scope& scope = replica.scope();
  const layers::Embedding embedding(scope.WithName("embedding"), 6, 3, From(TensorShape({6, 3}), 0.6F));
  const layers::Dense out(scope.WithName("out"), 3, 1, layers::Activation::kNone, From(TensorShape({3, 1}), 0.5F));
  return MeanSquares(scope, out(scope, embedding(scope, inputs[1])), inputs[2]);
}

Output StatisticsLoss(const ReplicaContext& replica, const OutputList& inputs) {
  const Scope& scope = replica.scope();
  const auto average =
      ResourceVariable::Make(scope.WithName("moving_mean"), TensorShape({kFeatures}), DT_FLOAT, initializers::Zeros(),
                             {.trainable = false,
                              .synchronization = VariableSynchronization::kOnRead,
                              .aggregation = VariableAggregation::kMean});
  const auto last =
      ResourceVariable::Make(scope.WithName("last_mean"), TensorShape({1}), DT_FLOAT, initializers::Zeros(),
                             {.trainable = false, .aggregation = VariableAggregation::kMean});
  const auto count = ResourceVariable::Make(scope.WithName("examples"), TensorShape(), DT_FLOAT, initializers::Zeros(),
                                            {.trainable = false, .aggregation = VariableAggregation::kSum});
  const layers::Dense out(scope.WithName("out"), kFeatures, 1, layers::Activation::kNone,
                          From(TensorShape({kFeatures, 1}), 0.5F));
  const Tensor rows = Tensor::Vector<int32_t>({0});
  const Scope beside = scope.ColocateWith(average.handle().op());
  const Output mean = ops::Mean(scope, inputs[0], rows);
  const Operation moved =
      ops::AssignSubVariableOp(beside, average.handle(), ops::Mul(scope, ops::Sub(scope, average.value(), mean), 0.1));
  const Operation kept = last.Assign(scope.ColocateWith(last.handle().op()), ops::Mean(scope, inputs[2], rows));
  const Output shape = ops::Shape(scope, inputs[0]);
  const Output size =
      ops::Cast(scope,
                ops::StridedSlice(scope, shape, Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({1}),
                                  Tensor::Vector<int32_t>({1}), {.shrink_axis_mask = 1}),
                DT_FLOAT);
  const Operation counted = count.AssignAdd(scope.ColocateWith(count.handle().op()), size);
  const Output centred = ops::Sub(scope, inputs[0], replica.AllReduce(ReduceOp::kMean, mean));
  const Output loss = MeanSquares(scope, out(scope, centred), inputs[2]);
  return ops::Identity(scope.WithControlDependencies(std::vector<Operation>{moved, kept, counted}), loss);
}

Output FragileLoss(const ReplicaContext& replica, const OutputList& inputs) {
  const Scope& scope = replica.scope();
  const Output loss = MlpLoss(replica, inputs);
  const auto guard =
      ResourceVariable::Make(scope.WithName("guard"), TensorShape({1}), DT_FLOAT, initializers::Constant(1));
  const Tensor both = Tensor::Vector<int32_t>({0, 1});
  const Output rare = ops::Cast(scope, ops::Greater(scope, inputs[0], 1.4999F), DT_FLOAT);
  const Output unless_rare = ops::Sub(scope, 1.0F, ops::Max(scope, rare, both));
  const Output sum = ops::Sum(scope, ops::Square(scope, guard.value()), Tensor::Vector<int32_t>({0}));
  // The square root has no derivative at zero, though it is multiplied by nothing.
  return ops::AddV2(scope, loss, ops::Mul(scope, ops::Sqrt(scope, ops::Mul(scope, sum, unless_rare)), 0.0F));
}

void ExpectMeanLosses(std::vector<FutureModel>& workers, const TrainedModel& expected) {
  std::vector<TrainedModel> trained;
  for (FutureModel& worker : workers) {
    auto model = worker.get();
    ASSERT_THAT(model, IsOk());
    trained.push_back(*std::move(model));
  }
  for (int step = 0; step < kSteps; ++step) {
    float mean = 0;
    for (const TrainedModel& model : trained) mean += model.losses[step] / static_cast<float>(trained.size());
    EXPECT_NEAR(mean, expected.losses[step], 1e-4F * (1 + expected.losses[step])) << "step " << step;
  }
}

void ExpectSameTraining(const TrainedModel& actual, const TrainedModel& expected, float tolerance) {
  ASSERT_EQ(actual.losses.size(), expected.losses.size());
  for (size_t i = 0; i < expected.losses.size(); ++i) {
    EXPECT_NEAR(actual.losses[i], expected.losses[i], tolerance * (1 + std::abs(expected.losses[i]))) << "step " << i;
  }
  ASSERT_EQ(actual.variables.size(), expected.variables.size());
  for (const auto& [name, value] : expected.variables) {
    ASSERT_TRUE(actual.variables.contains(name)) << name;
    const Tensor& own = actual.variables.at(name);
    ASSERT_EQ(own.shape(), value.shape()) << name;
    if (value.dtype() != DT_FLOAT) {
      ExpectTensorEqual(own, value);
      continue;
    }
    for (int64_t i = 0; i < value.NumElements(); ++i) {
      const float wanted = value.data<float>()[i];
      EXPECT_NEAR(own.data<float>()[i], wanted, tolerance * (1 + std::abs(wanted))) << name << " [" << i << "]";
    }
  }
}

}  // namespace weir
