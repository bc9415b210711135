#include "client/training/loss_scaling.h"

#include <cmath>
#include <limits>

#include "client/initializers.h"
#include "client/ops.h"
#include "client/saver.h"
#include "client/session.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// One variable, w = [1, 2], whose gradient is `push` in each step.
class LossScalingTest : public ::testing::Test {
 protected:
  void Build(std::unique_ptr<Optimizer> optimizer) {
    optimizer_ = std::move(optimizer);
    w_ = ResourceVariable::Make(scope_.WithName("w"), TensorShape({2}), DT_FLOAT,
                                [](const Scope& s, const TensorShape&, DataType) {
                                  return s.Constant(Tensor::Vector<float>({1, 2}));
                                });
    push_ = ops::Placeholder(scope_, DT_FLOAT);
    const Output loss = ops::Sum(scope_, ops::Mul(scope_, w_.value(), push_), Tensor::Vector<int32_t>({0}));
    step_ = GlobalStep(scope_);
    train_ = optimizer_->Minimize(scope_, loss, step_);
    initialize_ = InitializeAll(scope_);
  }
  std::unique_ptr<Session> Start() {
    EXPECT_THAT(scope_.status(), IsOk());
    auto session = Session::Local(scope_).value();
    EXPECT_THAT(session->RunTargets({initialize_}), IsOk());
    return session;
  }
  absl::Status Push(Session& session, float gradient) {
    return session.Run({{push_, Tensor::Scalar<float>(gradient)}}, {}, {train_}).status();
  }
  ResourceVariable Find(const std::string& name) {
    for (const ResourceVariable& variable : scope_.variables()) {
      if (variable.name() == name) return variable;
    }
    ADD_FAILURE() << "There is no variable " << name;
    return {};
  }
  Tensor Read(Session& session, const std::string& name) {
    const Output read = Find(name).Read(scope_);
    return session.Run({read}).value()[0];
  }
  float Scale(Session& session) { return Read(session, "current_loss_scale").scalar<float>(); }
  int64_t GoodSteps(Session& session) { return Read(session, "good_steps").scalar<int64_t>(); }
  float W(Session& session) { return Read(session, "w").data<float>()[0]; }

  Scope scope_ = Scope::NewRoot();
  std::unique_ptr<Optimizer> optimizer_;
  ResourceVariable w_, step_;
  Output push_;
  Operation train_, initialize_;
};

TEST_F(LossScalingTest, AFixedScaleDividesWhatItMultiplied) {
  Build(LossScaleOptimizer(GradientDescentOptimizer(0.5), 1024));
  const auto session = Start();
  ASSERT_THAT(Push(*session, 1), IsOk());
  EXPECT_EQ(W(*session), 0.5F);
}

TEST_F(LossScalingTest, GrowsAfterGoodSteps) {
  Build(LossScaleOptimizer(GradientDescentOptimizer(0.5), {.initial_scale = 8, .growth_steps = 2, .multiplier = 4}));
  const auto session = Start();
  ASSERT_THAT(Push(*session, 1), IsOk());
  EXPECT_EQ(Scale(*session), 8);
  EXPECT_EQ(GoodSteps(*session), 1);
  ASSERT_THAT(Push(*session, 1), IsOk());
  EXPECT_EQ(Scale(*session), 32);
  EXPECT_EQ(GoodSteps(*session), 0);
  EXPECT_EQ(W(*session), 0);
}

TEST_F(LossScalingTest, SkipsStepsThatOverflow) {
  Build(LossScaleOptimizer(MomentumOptimizer(0.5, 0.5), {.initial_scale = 8, .growth_steps = 2}));
  const auto session = Start();
  ASSERT_THAT(Push(*session, 1), IsOk());
  for (const float bad : {1e38F, kInfinity, std::nanf("")}) ASSERT_THAT(Push(*session, bad), IsOk());
  EXPECT_EQ(Scale(*session), 1);
  EXPECT_EQ(GoodSteps(*session), 0);
  EXPECT_EQ(W(*session), 0.5F);
  EXPECT_EQ(Read(*session, "w/Momentum/accumulator").data<float>()[0], 1);
  EXPECT_EQ(Read(*session, "global_step").scalar<int64_t>(), 1);
  ASSERT_THAT(Push(*session, 1), IsOk());
  EXPECT_EQ(W(*session), -0.25F);
  EXPECT_EQ(Read(*session, "global_step").scalar<int64_t>(), 2);
}

TEST_F(LossScalingTest, IsNeverBelowOneNorInfinite) {
  Build(LossScaleOptimizer(GradientDescentOptimizer(0), {.initial_scale = 0x1p127, .growth_steps = 1}));
  const auto session = Start();
  ASSERT_THAT(Push(*session, 1e-3F), IsOk());
  EXPECT_EQ(Scale(*session), 0x1p127F);
  for (int i = 0; i < 130; ++i) ASSERT_THAT(Push(*session, kInfinity), IsOk());
  EXPECT_EQ(Scale(*session), 1);
}

TEST_F(LossScalingTest, IsSavedWithTheModel) {
  const ScratchDirectory directory;
  Build(LossScaleOptimizer(GradientDescentOptimizer(0.5), {.initial_scale = 8, .growth_steps = 3}));
  Saver saver(scope_);
  const auto session = Start();
  for (const float gradient : {1.0F, kInfinity, 1.0F, 1.0F}) ASSERT_THAT(Push(*session, gradient), IsOk());
  const auto saved = saver.Save(*session, directory.path() + "/model", 1);
  ASSERT_THAT(saved, IsOk());
  const auto other = Start();
  ASSERT_THAT(saver.Restore(*other, *saved), IsOk());
  EXPECT_EQ(Scale(*other), 4);
  EXPECT_EQ(GoodSteps(*other), 2);
}

TEST_F(LossScalingTest, SaysWhatItCannotDo) {
  Build(LossScaleOptimizer(GradientDescentOptimizer(0.5), {.initial_scale = 8, .growth_steps = 0}));
  EXPECT_THAT(scope_.status().message(), HasSubstr("grows after 1 step or more (not 0)"));
}

// Gradients of 1e-9 underflow in float16; 3e-5 do not.
TEST(Float16TrainingTest, LearnsFromGradientsThatFloat16CannotHold) {
  for (const bool scaled : {false, true}) {
    const Scope scope = Scope::NewRoot();
    const auto w =
        ResourceVariable::Make(scope.WithName("w"), TensorShape({4, 4}), DT_FLOAT, initializers::Constant(0));
    const Output x = ops::Placeholder(scope, DT_FLOAT);
    const Output y = ops::MatMul(scope, x, w.value());
    const Output loss = ops::Mul(scope, ops::Mean(scope, y, Tensor::Vector<int32_t>({0, 1})), 1e-8F);
    std::unique_ptr<Optimizer> optimizer = GradientDescentOptimizer(1e8);
    if (scaled) optimizer = LossScaleOptimizer(std::move(optimizer), DynamicLossScale());
    const Operation train = optimizer->Minimize(scope, loss);
    const Operation initialize = InitializeAll(scope);
    const Output read = w.Read(scope);
    ASSERT_THAT(scope.status(), IsOk());
    SessionOptions options;
    options.config->mutable_graph_options()->mutable_rewrite_options()->set_auto_mixed_precision_cpu(
        tensorflow::RewriterConfig::ON);
    const auto session = Session::Local(scope, options).value();
    ASSERT_THAT(session->RunTargets({initialize}), IsOk());
    Tensor ones(DT_FLOAT, TensorShape({4, 4}));
    std::fill_n(ones.data<float>(), 16, 1.0F);
    ASSERT_THAT(session->Run({{x, ones}}, {}, {train}), IsOk());
    const float learned = session->Run({read}).value()[0].data<float>()[0];
    if (scaled) {
      EXPECT_NEAR(learned, -0.25F, 1e-3F);
    } else {
      EXPECT_EQ(learned, 0);
    }
  }
}

}  // namespace
}  // namespace weir
