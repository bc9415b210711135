// Whatever is wrong with a graph or a step is told by name, and the session goes on.
#include "absl/time/clock.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/variables.h"
#include "core/clock.h"
#include "tests/session/session_suite.h"

namespace weir {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class ErrorTest : public SessionSuite {
 protected:
  // After an error: the session still computes, on both devices.
  void ExpectAlive() {
    const Output alive = ops::AddV2(On(1), On(0).Constant(1), On(0).Constant(2));
    ExpectTensorEqual(Fetch(alive), AsScalar<int32_t>(3));
  }
};
WEIR_SESSION_SUITE(ErrorTest);

TEST_P(ErrorTest, AFailingStepNamesNodeOpAndDevice) {
  const Output x = ops::Placeholder(scope_.WithName("x"), DT_FLOAT),
               y = ops::Placeholder(scope_.WithName("y"), DT_FLOAT);
  const Output product = ops::MatMul(On(1).WithName("product"), x, y);
  const absl::Status status =
      ErrorOf({{x, AsTensor<float>({1, 2}, {1, 2})}, {y, AsTensor<float>({1, 2, 3}, {3, 1})}}, {product});
  ASSERT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("product")));
  const auto origin = OriginOf(status);
  ASSERT_TRUE(origin.has_value());
  EXPECT_EQ(origin->node, "product");
  EXPECT_EQ(origin->op, "MatMul");
  EXPECT_EQ(origin->device, device_name(1));
  ExpectAlive();
}

TEST_P(ErrorTest, APlaceholderThatIsNotFedIsNamed) {
  const Output x = ops::Placeholder(On(1).WithName("forgotten"), DT_FLOAT);
  const Output y = ops::Neg(On(0), x);
  EXPECT_THAT(ErrorOf({}, {y}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("forgotten")));
  ExpectTensorEqual(Run({{x, AsScalar<float>(1)}}, {y})[0], AsScalar<float>(-1));
}

TEST_P(ErrorTest, AnErrorOnOneDeviceEndsTheOtherThatWaits) {
  const Output x = ops::Placeholder(On(0).WithName("x"), DT_INT32);
  const Output bad = ops::FloorDiv(On(0).WithName("bad"), On(0).Constant(1), x);
  const Output waits = ops::Neg(On(1), bad);
  const Output queue = ops::FIFOQueueV2(On(1), {DT_INT32});
  const Output never = ops::QueueDequeueV2(On(1), queue, {DT_INT32})[0];
  const absl::Time start = MonotonicNow();
  EXPECT_THAT(ErrorOf({{x, AsScalar<int32_t>(0)}}, {waits, never}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bad")));
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(20));
  ExpectAlive();
}

TEST_P(ErrorTest, UnknownNamesAreRefused) {
  scope_.WithName("known").Constant(1);
  EXPECT_THAT(session().RunNamed({}, {"unknown:0"}), StatusIs(absl::StatusCode::kNotFound, HasSubstr("unknown")));
  EXPECT_THAT(session().RunNamed({}, {}, {"nowhere"}), StatusIs(absl::StatusCode::kNotFound, HasSubstr("nowhere")));
  EXPECT_THAT(session().RunNamed({{"nothing:0", AsScalar<int32_t>(1)}}, {"known:0"}),
              StatusIs(AnyOf(absl::StatusCode::kNotFound, absl::StatusCode::kInvalidArgument), HasSubstr("nothing")));
  EXPECT_THAT(session().RunNamed({}, {"known:1"}),
              StatusIs(AnyOf(absl::StatusCode::kNotFound, absl::StatusCode::kInvalidArgument), HasSubstr("known")));
  ExpectAlive();
}

TEST_P(ErrorTest, ATensorIsFedOnce) {
  const Output x = ops::Placeholder(scope_.WithName("x"), DT_INT32), y = ops::Neg(scope_, x);
  const Tensor one = AsScalar<int32_t>(1);
  EXPECT_THAT(ErrorOf({{x, one}, {x, one}}, {y}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("x:0")));
  ExpectAlive();
}

TEST_P(ErrorTest, AFeedHasTheTypeOfWhatItReplaces) {
  const Output x = ops::Placeholder(On(1).WithName("x"), DT_FLOAT), y = ops::Neg(On(1), x);
  EXPECT_THAT(ErrorOf({{x, AsScalar<int32_t>(1)}}, {y}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("x")));
  ExpectAlive();
}

TEST_P(ErrorTest, WhatWasNeverBuiltIsRefused) {
  const Output x = ops::Placeholder(On(1).WithName("x"), DT_FLOAT), y = ops::Neg(On(1), x);
  EXPECT_THAT(ErrorOf({{Output(), AsScalar<float>(1)}}, {y}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ErrorOf({}, {Output()}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ErrorOf({}, {}, {Operation()}), StatusIs(absl::StatusCode::kInvalidArgument));
  ExpectAlive();
}

TEST_P(ErrorTest, ACallableRefusesAnotherType) {
  const Output x = ops::Placeholder(On(1), DT_FLOAT), y = ops::Neg(On(1), x);
  ASSERT_THAT(Connect(), IsOk());
  ASSERT_OK_AND_ASSIGN(auto callable, session().MakeCallable({x}, {y}));
  EXPECT_THAT(callable->Run({AsScalar<int32_t>(1)}), StatusIs(absl::StatusCode::kInvalidArgument));
  ExpectAlive();
}

TEST_P(ErrorTest, AnErrorOfTheScopeIsReported) {
  ops::MatMul(scope_.WithName("bad"), scope_.Constant(int32_t{1}), scope_.Constant(1.0f));
  EXPECT_THAT(Connect(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bad")));
}

TEST_P(ErrorTest, AnErrorThatCameLaterIsReportedByTheNextRun) {
  const Output good = scope_.Constant(1);
  ExpectTensorEqual(Fetch(good), AsScalar<int32_t>(1));
  ops::MatMul(scope_.WithName("bad"), scope_.Constant(int32_t{1}), scope_.Constant(1.0f));
  EXPECT_THAT(ErrorOf({}, {good}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bad")));
}

TEST_P(ErrorTest, ADeviceThatIsNotThereIsAnErrorOfTheStepThatNeedsIt) {
  const Output here = ops::Identity(On(0), scope_.Constant(1));
  const Output nowhere = ops::Identity(scope_.WithDevice("/job:nowhere/task:7").WithName("lost"), scope_.Constant(1));
  ExpectTensorEqual(Fetch(here), AsScalar<int32_t>(1));
  EXPECT_THAT(ErrorOf({}, {nowhere}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lost")));
  ExpectAlive();
}

TEST_P(ErrorTest, SoftPlacementTakesWhatIsThere) {
  const Output x = ops::Neg(scope_.WithDevice("/device:GPU:0"), scope_.Constant(1));
  SessionOptions options;
  options.config->set_allow_soft_placement(true);
  ASSERT_OK_AND_ASSIGN(auto session, Connect(options));
  ASSERT_OK_AND_ASSIGN(auto result, session->Run({x}));
  ExpectTensorEqual(result[0], AsScalar<int32_t>(-1));
}

TEST_P(ErrorTest, AStepThatTakesTooLongEnds) {
  const Output queue = ops::FIFOQueueV2(On(1), {DT_INT32});
  const Output never = ops::QueueDequeueV2(On(1), queue, {DT_INT32})[0];
  tensorflow::RunOptions options;
  options.set_timeout_in_ms(200);
  const absl::Time start = MonotonicNow();
  EXPECT_THAT(session().Run({}, {never}, {}, options), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(20));
  ExpectAlive();
}

TEST_P(ErrorTest, TheSessionsTimeoutHoldsForEachStep) {
  const Output queue = ops::FIFOQueueV2(On(1), {DT_INT32});
  const Output never = ops::QueueDequeueV2(On(1), queue, {DT_INT32})[0];
  SessionOptions options;
  options.config->set_operation_timeout_in_ms(200);
  ASSERT_OK_AND_ASSIGN(auto session, Connect(options));
  EXPECT_THAT(session->Run({never}), StatusIs(absl::StatusCode::kDeadlineExceeded));
  const Operation enqueue = ops::QueueEnqueueV2(On(1), queue, {scope_.Constant(5)});
  // A busy machine may need longer for one of these steps, and a step that timed out may take an element as it ends.
  absl::StatusOr<std::vector<Tensor>> result;
  const absl::Time end = MonotonicNow() + absl::Minutes(1);
  do {
    session->RunTargets({enqueue}).IgnoreError();
    result = session->Run({never});
  } while (absl::IsDeadlineExceeded(result.status()) && MonotonicNow() < end);
  ASSERT_THAT(result, IsOk());
  ExpectTensorEqual((*result)[0], AsScalar<int32_t>(5));
}

TEST_P(ErrorTest, AnUninitializedVariableIsNamed) {
  const auto v = ResourceVariable::Make(On(1).WithName("weights"), TensorShape(), DT_FLOAT, initializers::Zeros());
  ASSERT_OK_AND_ASSIGN(auto session, Connect());
  EXPECT_THAT(session->Run({v.value()}), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("weights")));
}

TEST_P(ErrorTest, AssertsTellWhatTheySaw) {
  const Output x = ops::Placeholder(On(1), DT_INT32);
  const Operation check = ops::Assert(On(1).WithName("positive"), ops::Greater(On(1), x, 0),
                                      {scope_.Constant(Tensor::Scalar<tstring>("x is")), x});
  const Output y = ops::Identity(On(1).WithControlDependencies({check}), x);
  ExpectTensorEqual(Run({{x, AsScalar<int32_t>(1)}}, {y})[0], AsScalar<int32_t>(1));
  EXPECT_THAT(ErrorOf({{x, AsScalar<int32_t>(-3)}}, {y}),
              StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("x is"), HasSubstr("-3"))));
}

TEST_P(ErrorTest, ManyFailuresLeaveNothingBehind) {
  const Output x = ops::Placeholder(On(0), DT_INT32);
  const Output bad = ops::Neg(On(1), ops::FloorDiv(On(0), On(0).Constant(1), x));
  for (int i = 0; i < 50; ++i) {
    ASSERT_THAT(ErrorOf({{x, AsScalar<int32_t>(0)}}, {bad}), StatusIs(absl::StatusCode::kInvalidArgument));
    ExpectTensorEqual(Run({{x, AsScalar<int32_t>(1)}}, {bad})[0], AsScalar<int32_t>(-1));
  }
}

}  // namespace
}  // namespace weir
