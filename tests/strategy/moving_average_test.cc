// Averages of variables of which a strategy keeps copies.
#include "client/training/moving_average.h"

#include "client/initializers.h"
#include "client/ops.h"
#include "client/session.h"
#include "client/strategy/mirrored_strategy.h"
#include "core/testing.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

TEST(MirroredMovingAverageTest, FollowsOnEveryDevice) {
  const Scope root = Scope::NewRoot();
  ASSERT_OK_AND_ASSIGN(const auto strategy, MirroredStrategy(root, {.devices = {"/device:CPU:0", "/device:CPU:1"}}));
  const Scope& scope = strategy->Scope();
  const ResourceVariable x =
      ResourceVariable::Make(scope.WithName("x"), TensorShape(), DT_FLOAT, initializers::Constant(2));
  ASSERT_EQ(x.copies().size(), 1);
  ExponentialMovingAverage averages({.decay = 0.75});
  const Operation apply = averages.Apply(scope, {x});
  const Operation assign = x.Assign(scope, Tensor::Scalar<float>(6));
  const Operation initialize = InitializeAll(root);
  const ResourceVariable average = averages.Average(x);
  ASSERT_THAT(root.status(), IsOk());
  ASSERT_EQ(average.copies().size(), 1);
  SessionOptions options;
  (*options.config->mutable_device_count())["CPU"] = 2;
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(root, options));
  for (const Operation& operation : {initialize, assign, apply}) {
    ASSERT_THAT(session->RunTargets({operation}), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(const auto values, session->Run({average.value(), average.copies()[0].value()}));
  for (const Tensor& value : values) ExpectTensorEqual(value, Tensor::Scalar<float>(3));
}

}  // namespace
}  // namespace weir
