// Compares with TensorFlow 2.21: the numbers are results of Keras and tf.compat.v1 for the same arguments.

#include <cmath>

#include "client/initializers.h"
#include "client/ops.h"
#include "client/optimizer.h"
#include "client/saver.h"
#include "client/session.h"
#include "client/training/clipping.h"
#include "client/training/gradient_accumulation.h"
#include "client/training/losses.h"
#include "client/training/moving_average.h"
#include "client/training/schedules.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr float kTolerance = 2e-6F;

std::vector<float> Values(const Tensor& tensor) { return {tensor.flat<float>().begin(), tensor.flat<float>().end()}; }

// Expects the elements to be close.
void ExpectNear(const std::vector<float>& computed, const std::vector<float>& expected) {
  ASSERT_EQ(computed.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(computed[i], expected[i], kTolerance) << "at " << i;
}

class TrainingTest : public ::testing::Test {
 protected:
  std::vector<std::vector<float>> Compute(const std::vector<Output>& outputs) {
    EXPECT_THAT(scope_.status(), IsOk());
    const auto session = Session::Local(scope_).value();
    std::vector<std::vector<float>> values;
    const std::vector<Tensor> tensors = session->Run(outputs).value();
    for (const Tensor& tensor : tensors) values.push_back(Values(tensor));
    return values;
  }
  std::vector<float> Compute(const Output& output) { return Compute(std::vector<Output>{output})[0]; }
  Output Floats(const std::vector<float>& values, const TensorShape& shape) {
    return scope_.Constant(*Tensor::Vector<float>(values).Reshaped(shape));
  }
  ResourceVariable MakeVariable(const std::string& name, const std::vector<float>& values) {
    return ResourceVariable::Make(
        scope_.WithName(name), TensorShape({static_cast<int64_t>(values.size())}), DT_FLOAT,
        [=](const Scope& s, const TensorShape&, DataType) { return s.Constant(Tensor::Vector<float>(values)); });
  }

  Scope scope_ = Scope::NewRoot();
};

// --- Schedules, at steps 0, 1, 5, 10, 15, 20, 25, 37 and 100 ---

class ScheduleTest : public TrainingTest {
 protected:
  std::vector<float> Rates(const schedules::Schedule& schedule) {
    std::vector<Output> rates;
    for (const int64_t step : {0, 1, 5, 10, 15, 20, 25, 37, 100}) {
      rates.push_back(schedule(scope_, scope_.Constant(Tensor::Scalar<int64_t>(step))));
    }
    std::vector<float> values;
    for (const auto& rate : Compute(rates)) values.push_back(rate[0]);
    return values;
  }
};

TEST_F(ScheduleTest, ExponentialDecay) {
  ExpectNear(Rates(schedules::ExponentialDecay(0.5, 10, 0.8)),
             {0.5, 0.48896638, 0.44721359, 0.4, 0.35777089, 0.32, 0.28621671, 0.21897925, 0.05368710});
  ExpectNear(Rates(schedules::ExponentialDecay(0.5, 10, 0.8, true)),
             {0.5, 0.5, 0.5, 0.4, 0.4, 0.32, 0.32, 0.25600001, 0.05368710});
}

TEST_F(ScheduleTest, PolynomialDecay) {
  ExpectNear(Rates(schedules::PolynomialDecay(0.5, 20, 0.01, 2)),
             {0.5, 0.452225, 0.28562498, 0.1325, 0.040625, 0.01, 0.01, 0.01, 0.01});
  ExpectNear(Rates(schedules::PolynomialDecay(0.5, 20, 0.01, 1, true)),
             {0.5, 0.4755, 0.3775, 0.255, 0.1325, 0.01, 0.19375001, 0.04674999, 0.01});
}

TEST_F(ScheduleTest, PiecewiseConstant) {
  ExpectNear(Rates(schedules::PiecewiseConstant({5, 20}, {1, 0.5, 0.1})), {1, 1, 1, 0.5, 0.5, 0.5, 0.1, 0.1, 0.1});
}

TEST_F(ScheduleTest, InverseTimeDecay) {
  ExpectNear(Rates(schedules::InverseTimeDecay(0.5, 10, 0.5)),
             {0.5, 0.47619051, 0.4, 0.33333334, 0.2857143, 0.25, 0.22222222, 0.1754386, 0.08333334});
  ExpectNear(Rates(schedules::InverseTimeDecay(0.5, 10, 0.5, true)),
             {0.5, 0.5, 0.5, 0.33333334, 0.33333334, 0.25, 0.25, 0.2, 0.08333334});
}

TEST_F(ScheduleTest, CosineDecay) {
  ExpectNear(Rates(schedules::CosineDecay(0.5, 20, 0.1)),
             {0.5, 0.49722987, 0.43409905, 0.27499998, 0.11590098, 0.05, 0.05, 0.05, 0.05});
}

TEST_F(ScheduleTest, LinearWarmupBeforeCosineDecay) {
  ExpectNear(Rates(schedules::LinearWarmup(0, 0.5, 10, schedules::CosineDecay(0.5, 20, 0.1))),
             {0, 0.05, 0.25, 0.5, 0.43409905, 0.27499998, 0.11590098, 0.05, 0.05});
}

TEST_F(ScheduleTest, CosineDecayRestarts) {
  ExpectNear(Rates(schedules::CosineDecayRestarts(0.5, 10, 2, 0.8, 0.05)),
             {0.5, 0.4883759, 0.26249999, 0.405, 0.3493503, 0.21499999, 0.08064972, 0.30660135, 0.19313432});
  ExpectNear(Rates(schedules::CosineDecayRestarts(0.5, 10, 1, 0.9)),
             {0.5, 0.48776412, 0.25, 0.44999999, 0.22499998, 0.40499997, 0.20249998, 0.0751261, 0.17433918});
}

TEST_F(ScheduleTest, AnOptimizerFollowsASchedule) {
  const ResourceVariable w = MakeVariable("w", {1}), step = GlobalStep(scope_);
  const auto rate = schedules::LearningRate(scope_, schedules::PiecewiseConstant({0}, {0.5, 0.1}), step);
  const Operation train =
      GradientDescentOptimizer(rate)->ApplyGradients(scope_, {{Floats({1}, TensorShape({1})), w}}, step);
  const Operation initialize = InitializeAll(scope_);
  const auto session = Session::Local(scope_).value();
  ASSERT_THAT(session->RunTargets({initialize}), IsOk());
  ASSERT_THAT(session->RunTargets({train}), IsOk());
  ASSERT_THAT(session->RunTargets({train}), IsOk());
  ExpectNear(Values(session->Run({w.value()}).value()[0]), {0.4F});
}

TEST_F(ScheduleTest, SchedulesThatCannotBeAreErrors) {
  schedules::PiecewiseConstant({5}, {1})(scope_, scope_.Constant(Tensor::Scalar<int64_t>(1)));
  EXPECT_THAT(scope_.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("one value more")));
}

// --- Clipping ---

class ClippingTest : public TrainingTest {
 protected:
  const Output g_ = Floats({3, -4, 12}, TensorShape({3}));
  const Output h_ = Floats({0.5, -2, 1, 0}, TensorShape({2, 2}));
};

TEST_F(ClippingTest, ByValueAndByNorms) {
  const auto values = Compute({ClipByValue(scope_, g_, -5, 5), ClipByNorm(scope_, g_, 6.5), ClipByNorm(scope_, h_, 6.5),
                               ClipByNorm(scope_, h_, 2.0, {1}), ClipByAverageNorm(scope_, g_, 2.0)});
  ExpectNear(values[0], {3, -4, 5});
  ExpectNear(values[1], {1.5, -2, 6});
  ExpectNear(values[2], {0.5, -2, 1, 0});
  ExpectNear(values[3], {0.48507127, -1.9402851, 1, 0});
  ExpectNear(values[4], {1.3846154, -1.846154, 5.5384617});
}

TEST_F(ClippingTest, ZerosStayZeros) {
  ExpectNear(Compute(ClipByNorm(scope_, Floats({0, 0}, TensorShape({2})), 1.0)), {0, 0});
}

TEST_F(ClippingTest, ByTheGlobalNormOfDenseAndSparseGradients) {
  const ResourceVariable a = MakeVariable("a", {1, 1, 1}), b = MakeVariable("b", {1});
  const Output indices = scope_.Constant(Tensor::Vector<int32_t>({0, 5}));
  const Gradient sparse(h_, indices, scope_.Constant(Tensor::Vector<int32_t>({9, 2})));
  const auto clipped = ClipByGlobalNorm(scope_, {{g_, a}, {sparse, b}, {Gradient(), b}}, 5.0);
  ASSERT_TRUE(clipped.gradients[1].gradient.is_sparse());
  const auto values =
      Compute({clipped.global_norm, clipped.gradients[0].gradient.values, clipped.gradients[1].gradient.values});
  ExpectNear(values[0], {13.200378F});
  ExpectNear(values[1], {1.1363311, -1.5151081, 4.5453243});
  ExpectNear(values[2], {0.18938851, -0.75755405, 0.37877703, 0});
}

TEST_F(ClippingTest, ANormThatIsNotFiniteShows) {
  const ResourceVariable a = MakeVariable("a", {1, 1});
  const auto clipped = ClipByGlobalNorm(scope_, {{Floats({INFINITY, 1}, TensorShape({2})), a}}, 5.0);
  EXPECT_TRUE(std::isnan(Compute(clipped.gradients[0].gradient.values)[1]));
}

// --- Moving averages ---

TEST_F(TrainingTest, AVariablesAverageMovesFasterAtFirst) {
  const ResourceVariable x = MakeVariable("x", {1});
  const ResourceVariable updates = ResourceVariable::Make(scope_.WithName("updates"), TensorShape(), DT_INT32,
                                                          initializers::Zeros(), {.trainable = false});
  ExponentialMovingAverage average({.decay = 0.9, .num_updates = updates.value()});
  const Operation add = x.AssignAdd(scope_, Tensor::Vector<float>({1}));
  const Operation apply = average.Apply(scope_.WithControlDependencies({add}));
  const Operation count = updates.AssignAdd(scope_.WithControlDependencies({apply}), Tensor::Scalar<int32_t>(1));
  const Operation initialize = InitializeAll(scope_);
  ASSERT_THAT(scope_.status(), IsOk());
  EXPECT_EQ(average.Average(x).name(), "x/ExponentialMovingAverage");
  const auto session = Session::Local(scope_).value();
  ASSERT_THAT(session->RunTargets({initialize}), IsOk());
  for (const float expected : {1.9F, 2.8F, 3.7F, 4.6F}) {
    ASSERT_THAT(session->RunTargets({count}), IsOk());
    ExpectNear(Values(session->Run({average.Average(x).value()}).value()[0]), {expected});
  }
}

TEST_F(TrainingTest, AnOutputsAverageWithoutItsBeginning) {
  const Output fed = ops::Placeholder(scope_, DT_FLOAT, {.shape = TensorShape()});
  const ExponentialMovingAverage average({.decay = 0.9, .zero_debias = true});
  const auto of_fed = average.Apply(scope_, fed, "loss");
  const Operation initialize = InitializeAll(scope_);
  const auto session = Session::Local(scope_).value();
  ASSERT_THAT(session->RunTargets({initialize}), IsOk());
  const std::vector<std::pair<float, float>> steps = {{2, 2}, {4, 3.0526316}, {1, 2.2952027}, {7, 3.6632743}};
  for (const auto& [value, expected] : steps) {
    ASSERT_THAT(session->Run({{fed, Tensor::Scalar<float>(value)}}, {}, {of_fed.update}), IsOk());
    ExpectNear(Values(session->Run({of_fed.value}).value()[0]), {expected});
  }
}

TEST_F(TrainingTest, VariablesAreRestoredFromTheirAverages) {
  const ResourceVariable x = MakeVariable("x", {1});
  ExponentialMovingAverage average({.decay = 0.5});
  average.Apply(scope_);
  const Operation move = average.Average(x).Assign(scope_, Tensor::Vector<float>({7}));
  const Saver all(scope_), averages(scope_, {}, {.saveables = average.VariablesFromAverages(), .no_variables = true});
  const Operation initialize = InitializeAll(scope_);
  ASSERT_THAT(scope_.status(), IsOk());
  const auto session = Session::Local(scope_).value();
  ASSERT_THAT(session->RunTargets({initialize}), IsOk());
  ASSERT_THAT(session->RunTargets({move}), IsOk());
  const ScratchDirectory directory;
  ASSERT_OK_AND_ASSIGN(const std::string path, all.Save(*session, directory.Path("averages/model"), 1));
  ASSERT_THAT(averages.Restore(*session, path), IsOk());
  ExpectNear(Values(session->Run({x.value()}).value()[0]), {7});
}

// --- Accumulation ---

class AccumulationTest : public TrainingTest {
 protected:
  // The variable after each of these gradients.
  std::vector<std::vector<float>> Train(std::unique_ptr<Optimizer> optimizer, int64_t steps,
                                        const std::vector<std::vector<float>>& gradients) {
    const ResourceVariable w = MakeVariable("w", {1, 2});
    const Output fed = ops::Placeholder(scope_, DT_FLOAT, {.shape = TensorShape({2})});
    const Operation train = AccumulateGradients(scope_, *optimizer, {{fed, w}}, steps, GlobalStep(scope_));
    const Operation initialize = InitializeAll(scope_);
    EXPECT_THAT(scope_.status(), IsOk());
    const auto session = Session::Local(scope_).value();
    EXPECT_THAT(session->RunTargets({initialize}), IsOk());
    std::vector<std::vector<float>> values;
    for (const auto& gradient : gradients) {
      EXPECT_THAT(session->Run({{fed, Tensor::Vector<float>(gradient)}}, {}, {train}), IsOk());
      values.push_back(Values(session->Run({w.value()}).value()[0]));
    }
    return values;
  }
};

TEST_F(AccumulationTest, AdamAppliesTheMeanOfThreeSteps) {
  const auto values =
      Train(AdamOptimizer(0.1, 0.9, 0.999, 1e-7), 3, {{1, 2}, {3, -1}, {0.5, 0.5}, {1, 1}, {2, 0}, {-3, 4}});
  ExpectNear(values[1], {1, 2});
  for (const int step : {2, 3, 4}) {
    EXPECT_THAT(values[step], Pointwise(FloatNear(2e-5), std::vector<float>{0.9000009F, 1.9000013F}));
  }
  EXPECT_THAT(values[5], Pointwise(FloatNear(2e-5), std::vector<float>{0.8329958F, 1.8094788F}));
}

TEST_F(AccumulationTest, MomentumAppliesTheMeanOfTwoSteps) {
  const auto values = Train(MomentumOptimizer(0.1, 0.9), 2, {{1, 2}, {3, -1}, {0.5, 0.5}, {1, 1}});
  ExpectNear(values[0], {1, 2});
  ExpectNear(values[1], {0.8, 1.95});
  ExpectNear(values[2], {0.8, 1.95});
  ExpectNear(values[3], {0.545, 1.83});
}

TEST_F(AccumulationTest, SparseGradientsGoToTheirRows) {
  const ResourceVariable table =
      ResourceVariable::Make(scope_.WithName("table"), TensorShape({3, 2}), DT_FLOAT, initializers::Zeros());
  const Gradient sparse(Floats({1, 2, 3, 4}, TensorShape({2, 2})), scope_.Constant(Tensor::Vector<int32_t>({2, 2})),
                        scope_.Constant(Tensor::Vector<int32_t>({3, 2})));
  const auto optimizer = GradientDescentOptimizer(1.0);
  const Operation train = AccumulateGradients(scope_, *optimizer, {{sparse, table}}, 2);
  const Operation initialize = InitializeAll(scope_);
  const auto session = Session::Local(scope_).value();
  ASSERT_THAT(session->RunTargets({initialize}), IsOk());
  for (int step = 0; step < 2; ++step) ASSERT_THAT(session->RunTargets({train}), IsOk());
  ExpectNear(Values(session->Run({table.value()}).value()[0]), {0, 0, 0, 0, -4, -6});
}

// --- Labels ---

TEST_F(TrainingTest, SmoothedLabels) {
  const Output logits = Floats({1, 2, 3, 0.5, -1, 2}, TensorShape({2, 3}));
  const Output labels = scope_.Constant(Tensor::Vector<int32_t>({1, 0}));
  const auto values = Compute({SmoothedSoftmaxLoss(scope_, logits, labels, 3, 0.2),
                               SmoothedSigmoidLoss(scope_, Floats({1.5, -0.5}, TensorShape({1, 2})),
                                                   Floats({0, 1}, TensorShape({1, 2})), 0.2)});
  ExpectNear(values[0], {1.5744586F});
  ExpectNear(values[1], {1.2377452F});
}

}  // namespace
}  // namespace weir
