// One process: training, evaluation, exports, and continuing from existing state.

#include "client/estimator/estimator.h"

#include "client/estimator/exporter.h"
#include "client/estimator/train_and_evaluate.h"
#include "client/estimator/training_end.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/optimizer.h"
#include "client/strategy/strategy_choice.h"
#include "core/files/file_system.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// y = 2 x, of x = 1 … 4.
Dataset Line(const Scope& scope) {
  return Dataset::Range(scope, 1, 5).Map([](const Scope& s, const OutputList& x) {
    const Output value = ops::Cast(s, x[0], DT_FLOAT);
    return OutputList{value, ops::Mul(s, value, 2)};
  });
}

InputFunction Training() {
  return [](const Scope& scope, const InputContext&) { return Line(scope).Repeat().Batch(2); };
}
InputFunction Evaluating() {
  return [](const Scope& scope, const InputContext&) { return Line(scope).Batch(3); };
}

ModelSpec Slope(const Scope& scope, const OutputList& input, const ModelContext& context) {
  const ResourceVariable slope =
      ResourceVariable::Make(scope.WithName("slope"), TensorShape(), DT_FLOAT, initializers::Zeros());
  const Output y = ops::Mul(scope, input[0], slope.value());
  ModelSpec spec;
  if (context.use == ModelUse::kPredict) return {.predictions = {{"y", y}}};
  const Output axis = scope.Constant(Tensor::Scalar<int32_t>(0));
  const Output error = ops::Abs(scope, ops::Sub(scope, y, input[1]));
  spec.loss = ops::Mean(scope, ops::Square(scope, error), axis);
  if (context.use == ModelUse::kTrain) {
    spec.train = GradientDescentOptimizer(0.02)->Minimize(scope, spec.loss, context.global_step);
  }
  const Output examples = ops::Cast(scope, ops::Size(scope, error), DT_FLOAT);
  spec.metrics["error"] = {.value = ops::Mean(scope, error, axis), .weight = examples};
  return spec;
}

// The same for a strategy, which minimizes the loss itself.
ModelSpec SlopeWithOptimizer(const Scope& scope, const OutputList& input, const ModelContext& context) {
  ModelSpec spec = Slope(scope, input, {.use = ModelUse::kEvaluate});
  if (context.use == ModelUse::kTrain) {
    spec.optimizer = GradientDescentOptimizer(0.02);
    spec.summaries = {ops::HistogramSummary(scope, "inputs", input[0])};
  }
  return spec;
}

// On several CPU devices of this process.
StrategyFactory Local(StrategyKind kind, int replicas) {
  std::vector<std::string> devices;
  for (int i = 0; i < replicas; ++i) devices.push_back(absl::StrCat("/device:CPU:", i));
  return [=](const Scope& root, const TfConfig& task) { return MakeStrategy(kind, root, task, devices); };
}

ServingInput Serving(const Scope& scope) {
  const Output x = ops::Placeholder(scope.WithName("x"), DT_FLOAT, {.shape = TensorShape({1})});
  return {.receivers = {{"x", x}}, .features = {x}};
}

class EstimatorTest : public ::testing::Test {
 protected:
  EstimatorTest() {
    config_.model_dir = directory_.path();
    config_.checkpoint_steps = 10;
    config_.evaluator_poll = absl::Milliseconds(5);
  }

  size_t Count(const std::string& pattern) {
    return files_->Glob(JoinPath(config_.model_dir, pattern)).value_or(std::vector<std::string>()).size();
  }
  void AsTask(const std::string& type) {
    ASSERT_THAT(config_.task.cluster.AddTask("chief", 0, "127.0.0.1:1"), IsOk());
    ASSERT_THAT(config_.task.cluster.AddTask("ps", 0, "127.0.0.1:2"), IsOk());
    config_.task.task_type = type;
  }
  TrainSpec Train(int64_t steps) const { return {.input = Training(), .options = {.max_steps = steps}}; }

  const ScratchDirectory directory_;
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  RunConfig config_;
};

TEST_F(EstimatorTest, AnEvaluationIsTheMeanOverExamples) {
  const Estimator estimator(Slope, config_);
  ASSERT_THAT(estimator.Train(Training(), {.max_steps = 1}), IsOk());
  ASSERT_OK_AND_ASSIGN(const Evaluation evaluation, estimator.Evaluate(Evaluating()));
  EXPECT_EQ(evaluation.global_step, 1);
  // One step on x = 1, 2: slope = 0.02 * 2 * (1 * 2 + 2 * 4) / 2 = 0.2; the mean error is 1.8 * 2.5.
  EXPECT_THAT(evaluation.values.at("error"), DoubleNear(4.5, 1e-5));
}

TEST_F(EstimatorTest, TrainsOnFromItsDirectoryAndNotBeyondTheLastStep) {
  ASSERT_OK_AND_ASSIGN(int64_t reached, Estimator(Slope, config_).Train(Training(), {.max_steps = 15}));
  EXPECT_EQ(reached, 15);
  for (int run = 0; run < 2; ++run) {
    ASSERT_OK_AND_ASSIGN(reached, Estimator(Slope, config_).Train(Training(), {.max_steps = 20}));
    EXPECT_EQ(reached, 20);
  }
  EXPECT_EQ(Count("model.ckpt-20.index"), 1);
  EXPECT_EQ(Count("model.ckpt-21.index"), 0);
}

TEST_F(EstimatorTest, EvaluatesEveryCheckpointAndExports) {
  std::vector<int64_t> steps;
  EvalSpec eval{.input = Evaluating(), .steps = 0};
  eval.report = [&](const Evaluation& evaluation) { steps.push_back(evaluation.global_step); };
  eval.exporters = {LatestExporter({.name = "latest", .serving = Serving, .exports_to_keep = 2}),
                    BestExporter({.name = "best", .serving = Serving, .exports_to_keep = 1})};
  ASSERT_THAT(TrainAndEvaluate(Estimator(Slope, config_), Train(25), eval), IsOk());
  EXPECT_THAT(steps, ElementsAre(0, 10, 20, 25));
  EXPECT_EQ(Count("eval/events.out.tfevents.*"), 1);
  EXPECT_EQ(Count("export/latest/*/saved_model.pb"), 2);
  EXPECT_EQ(Count("export/best/*/saved_model.pb"), 1);
}

TEST_F(EstimatorTest, TheBestStaysTheBestForALaterProcess) {
  const Estimator estimator(Slope, config_);
  ASSERT_THAT(estimator.Train(Training(), {.max_steps = 5}), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::string checkpoint, estimator.LatestCheckpoint());
  const std::string base = JoinPath(config_.model_dir, "export/best");
  const auto run = [&](double loss) {
    const auto exporter = BestExporter({.name = "best", .serving = Serving});
    return exporter->Export(estimator, base, checkpoint, {.global_step = 5, .values = {{"loss", loss}}});
  };
  ASSERT_OK_AND_ASSIGN(const std::string first, run(0.5));
  EXPECT_NE(first, "");
  ASSERT_OK_AND_ASSIGN(const std::string worse, run(0.6));
  EXPECT_EQ(worse, "");
  ASSERT_OK_AND_ASSIGN(const std::string better, run(0.4));
  EXPECT_NE(better, "");
}

TEST_F(EstimatorTest, AnyNumberIsBetterThanNone) {
  const Evaluation none, diverged{.values = {{"loss", NAN}}}, some{.values = {{"loss", 7}}};
  for (const IsBetter& is_better : {SmallerLoss(), LargerMetric("loss")}) {
    for (const Evaluation& without : {none, diverged}) {
      EXPECT_TRUE(is_better(without, some));
      EXPECT_FALSE(is_better(some, without));
    }
  }
}

TEST_F(EstimatorTest, AnEvaluatorGivesUpWhenNoCheckpointComes) {
  AsTask("evaluator");
  config_.evaluator_patience = absl::Milliseconds(20);
  EXPECT_THAT(TrainAndEvaluate(Estimator(Slope, config_), Train(5), {.input = Evaluating()}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("No new checkpoint")));
}

TEST_F(EstimatorTest, TasksThatServeEndWithTheChiefBeforeTheLastStep) {
  AsTask("ps");
  config_.train_distribute = Local(StrategyKind::kParameterServer, 1);
  config_.start_server = [&](const TfConfig&) -> absl::StatusOr<std::shared_ptr<void>> {
    RETURN_IF_ERROR(RecordTrainingEnd(config_.model_dir, 3));
    return nullptr;
  };
  EXPECT_THAT(TrainAndEvaluate(Estimator(SlopeWithOptimizer, config_), Train(1000), {.input = Evaluating()}), IsOk());
}

TEST_F(EstimatorTest, AnEvaluatorEndsWithTheChiefBeforeTheLastStep) {
  ASSERT_THAT(Estimator(Slope, config_).Train(Training(), {.max_steps = 5}), IsOk());
  AsTask("evaluator");
  std::vector<int64_t> steps;
  EvalSpec eval{.input = Evaluating()};
  eval.report = [&](const Evaluation& evaluation) {
    steps.push_back(evaluation.global_step);
    EXPECT_THAT(RecordTrainingEnd(config_.model_dir, 5), IsOk());
  };
  EXPECT_THAT(TrainAndEvaluate(Estimator(Slope, config_), Train(1000), eval), IsOk());
  EXPECT_THAT(steps, ElementsAre(5));
}

TEST_F(EstimatorTest, TheRecordOfAnEarlierTrainingsEndDoesNotCount) {
  ASSERT_THAT(RecordTrainingEnd(config_.model_dir, 3), IsOk());
  TrainingEndWatcher watcher(config_.model_dir);
  EXPECT_FALSE(*watcher.HasEnded(/*last_step_saved=*/false));
  EXPECT_TRUE(watcher.may_have_ended());
  EXPECT_TRUE(*watcher.HasEnded(/*last_step_saved=*/true));
  ASSERT_THAT(ClearTrainingEnd(config_.model_dir), IsOk());
  EXPECT_FALSE(*watcher.HasEnded(/*last_step_saved=*/true));
  EXPECT_FALSE(watcher.may_have_ended());
  ASSERT_THAT(RecordTrainingEnd(config_.model_dir, 3), IsOk());
  EXPECT_TRUE(*watcher.HasEnded(/*last_step_saved=*/false));
}

TEST_F(EstimatorTest, RolesThatDoNotExistAndStepsThatNeverEndAreErrors) {
  const EvalSpec eval{.input = Evaluating()};
  EXPECT_THAT(TrainAndEvaluate(Estimator(Slope, config_), Train(0), eval),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("max_steps")));
  AsTask("spectator");
  EXPECT_THAT(TrainAndEvaluate(Estimator(Slope, config_), Train(5), eval),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("spectator")));
}

TEST_F(EstimatorTest, ReplicasTakeBatchesInTurnAndAverageTheirGradients) {
  for (const StrategyKind kind : {StrategyKind::kMirrored, StrategyKind::kCentralStorage}) {
    config_.model_dir = directory_.Path(std::string(StrategyKindName(kind)));
    config_.train_distribute = Local(kind, 2);
    const Estimator estimator(SlopeWithOptimizer, config_);
    ASSERT_OK_AND_ASSIGN(const int64_t reached, estimator.Train(Training(), {.max_steps = 1}));
    EXPECT_EQ(reached, 1);
    ASSERT_OK_AND_ASSIGN(const Evaluation evaluation, estimator.Evaluate(Evaluating()));
    // Replicas have x = 1, 2 and x = 3, 4: slope = 0.02 * 2 * 2 * (1 + 4 + 9 + 16) / 4 = 0.6; the mean error is
    // 1.4 * 2.5.
    EXPECT_THAT(evaluation.values.at("error"), DoubleNear(3.5, 1e-5));
  }
}

TEST_F(EstimatorTest, AStrategyContinuesFromItsCheckpointAndInputPosition) {
  config_.train_distribute = Local(StrategyKind::kMirrored, 2);
  const Estimator estimator(SlopeWithOptimizer, config_);
  ASSERT_THAT(estimator.Train(Training(), {.max_steps = 3}), IsOk());
  ASSERT_THAT(estimator.Train(Training(), {.max_steps = 6}), IsOk());
  config_.model_dir = directory_.Path("at_once");
  const Estimator at_once(SlopeWithOptimizer, config_);
  ASSERT_THAT(at_once.Train(Training(), {.max_steps = 6}), IsOk());
  ASSERT_OK_AND_ASSIGN(const Evaluation resumed, estimator.Evaluate(Evaluating()));
  ASSERT_OK_AND_ASSIGN(const Evaluation expected, at_once.Evaluate(Evaluating()));
  EXPECT_EQ(resumed.global_step, 6);
  EXPECT_EQ(resumed.values, expected.values);
}

TEST_F(EstimatorTest, AnEvaluationOnSeveralDevicesCountsEachExampleOnce) {
  ASSERT_THAT(Estimator(Slope, config_).Train(Training(), {.max_steps = 1}), IsOk());
  for (int replicas : {1, 2, 3}) {  // of two batches
    config_.eval_distribute = Local(StrategyKind::kMirrored, replicas);
    ASSERT_OK_AND_ASSIGN(const Evaluation evaluation, Estimator(Slope, config_).Evaluate(Evaluating()));
    EXPECT_THAT(evaluation.values.at("error"), DoubleNear(4.5, 1e-5)) << replicas;
    EXPECT_EQ(evaluation.global_step, 1);
  }
  config_.eval_distribute = Local(StrategyKind::kMirrored, 2);
  ASSERT_OK_AND_ASSIGN(const Evaluation one, Estimator(Slope, config_).Evaluate(Evaluating(), {.steps = 1}));
  EXPECT_THAT(one.values.at("error"), DoubleNear(1.8 * 2, 1e-5));  // of x = 1, 2, 3
}

TEST_F(EstimatorTest, TrainingWithAStrategyNeedsAnOptimizer) {
  config_.train_distribute = Local(StrategyKind::kMirrored, 2);
  const ModelFunction without = [](const Scope& scope, const OutputList& input, const ModelContext&) {
    return Slope(scope, input, {.use = ModelUse::kEvaluate});
  };
  EXPECT_THAT(Estimator(without, config_).Train(Training(), {.max_steps = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ModelSpec::optimizer")));
}

TEST_F(EstimatorTest, StrategiesThatDoNotSuitTheClusterAreErrors) {
  ASSERT_THAT(config_.task.cluster.AddTask("worker", 0, "127.0.0.1:1"), IsOk());
  ASSERT_THAT(config_.task.cluster.AddTask("worker", 1, "127.0.0.1:2"), IsOk());
  config_.task.task_type = "worker";
  EXPECT_THAT(Estimator(Slope, config_).Train(Training(), {.max_steps = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("train_distribute")));
  config_.train_distribute = Local(StrategyKind::kMirrored, 2);
  EXPECT_THAT(Estimator(SlopeWithOptimizer, config_).Train(Training(), {.max_steps = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("single process")));
  config_.train_distribute = Local(StrategyKind::kParameterServer, 1);
  EXPECT_THAT(Estimator(SlopeWithOptimizer, config_).Train(Training(), {.max_steps = 1}), Not(IsOk()));
  config_.train_distribute = Local(StrategyKind::kMultiWorkerMirrored, 1);
  config_.task.task_type = "ps";
  EXPECT_THAT(Estimator(SlopeWithOptimizer, config_).Train(Training(), {.max_steps = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not train")));
}

TEST_F(EstimatorTest, AWorkerThatOnlyServesDoesNotTrain) {
  AsTask("worker");
  ASSERT_THAT(config_.task.cluster.AddTask("worker", 0, "127.0.0.1:3"), IsOk());
  config_.train_distribute = Local(StrategyKind::kParameterServer, 1);
  EXPECT_THAT(Estimator(SlopeWithOptimizer, config_).Train(Training(), {.max_steps = 1}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("only serves")));
}

TEST(StrategyChoiceTest, TheClusterSuggestsAStrategy) {
  ClusterSpec cluster;
  EXPECT_EQ(StrategyKindFor(cluster), StrategyKind::kMirrored);
  ASSERT_THAT(cluster.AddTask("worker", 0, "127.0.0.1:1"), IsOk());
  EXPECT_EQ(StrategyKindFor(cluster), StrategyKind::kMultiWorkerMirrored);
  ASSERT_THAT(cluster.AddTask("ps", 0, "127.0.0.1:2"), IsOk());
  EXPECT_EQ(StrategyKindFor(cluster), StrategyKind::kParameterServer);
  for (const StrategyKind kind : {StrategyKind::kOneDevice, StrategyKind::kMirrored, StrategyKind::kCentralStorage,
                                  StrategyKind::kParameterServer, StrategyKind::kMultiWorkerMirrored}) {
    ASSERT_OK_AND_ASSIGN(const StrategyKind parsed, ParseStrategyKind(StrategyKindName(kind)));
    EXPECT_EQ(parsed, kind);
  }
  EXPECT_THAT(ParseStrategyKind("mirror"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("mirrored")));
}

TEST_F(EstimatorTest, WritesForTensorBoard) {
  config_.log_dir = directory_.Path("logs");
  config_.summary_steps = 5;
  config_.profile_steps = 10;
  ASSERT_THAT(TrainAndEvaluate(Estimator(SlopeWithOptimizer, config_), Train(10), {.input = Evaluating()}), IsOk());
  EXPECT_EQ(Count("logs/events.out.tfevents.*"), 1);
  EXPECT_EQ(Count("logs/eval/events.out.tfevents.*"), 1);
  EXPECT_EQ(Count("logs/plugins/profile/step-10/*.xplane.pb"), 1);
  EXPECT_EQ(Count("eval/*"), 0);
}

TEST_F(EstimatorTest, ModelsThatLackWhatIsAskedOfThemAreErrors) {
  const ModelFunction nothing = [](const Scope&, const OutputList&, const ModelContext&) { return ModelSpec(); };
  EXPECT_THAT(Estimator(nothing, config_).Train(Training(), {.max_steps = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("loss")));
  EXPECT_THAT(Estimator(Slope, config_).Evaluate(Evaluating()), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace weir
