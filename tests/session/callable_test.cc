// Signatures that are prepared once.
#include <thread>

#include "client/initializers.h"
#include "client/ops.h"
#include "client/variables.h"
#include "tests/session/session_suite.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class CallableTest : public SessionSuite {};
WEIR_SESSION_SUITE(CallableTest);

TEST_P(CallableTest, RunsAPreparedSignature) {
  const Output x = ops::Placeholder(On(0).WithName("x"), DT_FLOAT);
  const Output y = ops::Square(On(1), x);
  ASSERT_OK_AND_ASSIGN(auto callable, session().MakeCallable({x}, {y}));
  for (float value : {2.0f, 3.0f, -4.0f}) {
    ASSERT_OK_AND_ASSIGN(auto result, callable->Run({AsScalar<float>(value)}));
    ExpectTensorEqual(result[0], AsScalar<float>(value * value));
  }
}

TEST_P(CallableTest, TheNumberOfFeedsIsChecked) {
  const Output x = ops::Placeholder(scope_, DT_FLOAT);
  ASSERT_OK_AND_ASSIGN(auto callable, session().MakeCallable({x}, {ops::Neg(scope_, x)}));
  EXPECT_THAT(callable->Run({}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Expected 1 feeds")));
  const Tensor one = AsScalar<float>(1);
  EXPECT_THAT(callable->Run({one, one}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Expected 1 feeds")));
  EXPECT_THAT(callable->Run({one}), IsOk());
}

TEST_P(CallableTest, ItGoesOnWhenTheGraphGrows) {
  const Output x = ops::Placeholder(On(1), DT_INT32), y = ops::Neg(On(0), x);
  ASSERT_OK_AND_ASSIGN(auto first, session().MakeCallable({x}, {y}));
  const Output z = ops::AddV2(On(1), y, 100);
  ASSERT_OK_AND_ASSIGN(auto second, session().MakeCallable({x}, {z, y}));
  ASSERT_OK_AND_ASSIGN(auto a, first->Run({AsScalar<int32_t>(1)}));
  ASSERT_OK_AND_ASSIGN(auto b, second->Run({AsScalar<int32_t>(2)}));
  ExpectTensorEqual(a[0], AsScalar<int32_t>(-1));
  ExpectTensorEqual(b[0], AsScalar<int32_t>(98));
  ExpectTensorEqual(b[1], AsScalar<int32_t>(-2));
}

TEST_P(CallableTest, ReleasingOneLeavesOthers) {
  const Output x = ops::Placeholder(scope_, DT_INT32), y = ops::Neg(On(1), x);
  ASSERT_OK_AND_ASSIGN(auto kept, session().MakeCallable({x}, {y}));
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK_AND_ASSIGN(auto released, session().MakeCallable({x}, {y}));
    ASSERT_THAT(released->Run({AsScalar<int32_t>(i)}), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(auto result, kept->Run({AsScalar<int32_t>(1)}));
  ExpectTensorEqual(result[0], AsScalar<int32_t>(-1));
}

TEST_P(CallableTest, ACallableMayOutliveItsSession) {
  const Output x = ops::Placeholder(scope_, DT_INT32);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Session> other, Connect());
  ASSERT_OK_AND_ASSIGN(const auto callable, other->MakeCallable({x}, {ops::Neg(On(1), x)}));
  EXPECT_THAT(callable->Run({AsScalar<int32_t>(1)}), IsOk());
  other.reset();
  EXPECT_THAT(callable->Run({AsScalar<int32_t>(1)}), StatusIs(absl::StatusCode::kAborted, HasSubstr("was closed")));
}

TEST_P(CallableTest, TargetsChangeVariables) {
  const auto v = ResourceVariable::Make(On(1).WithName("v"), TensorShape(), DT_FLOAT, initializers::Zeros());
  const Output x = ops::Placeholder(On(0), DT_FLOAT);
  const Operation add = v.AssignAdd(On(1), x);
  ASSERT_OK_AND_ASSIGN(auto callable, session().MakeCallable({x}, {}, {add}));
  for (int i = 0; i < 5; ++i) ASSERT_THAT(callable->Run({AsScalar<float>(2)}), IsOk());
  ExpectTensorEqual(Fetch(v.value()), AsScalar<float>(10));
}

TEST_P(CallableTest, RunsFromManyThreads) {
  const Output x = ops::Placeholder(On(0), DT_INT64), y = ops::Square(On(1), x);
  ASSERT_OK_AND_ASSIGN(auto callable, session().MakeCallable({x}, {y}));
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&callable, t] {
      for (int64_t i = 0; i < 50; ++i) {
        const int64_t value = t * 1000 + i;
        auto result = callable->Run({AsScalar<int64_t>(value)});
        ASSERT_THAT(result, IsOk());
        EXPECT_EQ((*result)[0].scalar<int64_t>(), value * value);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_P(CallableTest, AnUnknownNameIsRefused) {
  Scope elsewhere = Scope::NewRoot();
  const Output foreign = elsewhere.WithName("foreign").Constant(1.0f);
  scope_.Constant(1.0f);
  EXPECT_THAT(session().MakeCallable({}, {foreign}), StatusIs(absl::StatusCode::kNotFound, HasSubstr("foreign")));
}

TEST_P(CallableTest, AnErrorNamesTheNodeAndLaterCallsSucceed) {
  const Output x = ops::Placeholder(On(0), DT_INT32);
  const Output y = ops::FloorDiv(On(1).WithName("quotient"), On(1).Constant(6), x);
  ASSERT_OK_AND_ASSIGN(auto callable, session().MakeCallable({x}, {y}));
  EXPECT_THAT(callable->Run({AsScalar<int32_t>(0)}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("quotient")));
  ASSERT_OK_AND_ASSIGN(auto result, callable->Run({AsScalar<int32_t>(2)}));
  ExpectTensorEqual(result[0], AsScalar<int32_t>(3));
}

}  // namespace
}  // namespace weir
