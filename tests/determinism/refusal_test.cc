// Tests which ops a deterministic session rejects, and each way to ask for one.
#include <cstdlib>

#include "client/data/dataset.h"
#include "client/data/iterator.h"
#include "client/ops.h"
#include "core/testing.h"
#include "tests/determinism/programs.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kNeedsSeed[] = "When determinism is enabled, random ops must have a seed specified.";

absl::Status RunDeterministic(const Scope& scope, const Operation& operation) {
  RETURN_IF_ERROR(scope.status());
  ASSIGN_OR_RETURN(const auto session, Session::Local(scope, {.deterministic = true}));
  return session->RunTargets({operation});
}

TEST(DeterministicSessionTest, RejectsRandomOpsWithoutSeeds) {
  const Scope scope = Scope::NewRoot();
  const Tensor shape = Tensor::Vector<int32_t>({2});
  const std::vector<Operation> unseeded = {
      ops::RandomUniform(scope.WithName("uniform"), shape, DT_FLOAT).op(),
      ops::RandomShuffle(scope.WithName("shuffle"), shape).op(),
      ops::QueueSizeV2(scope, ops::RandomShuffleQueueV2(scope.WithName("queue"), {DT_FLOAT})).op(),
      ops::FractionalMaxPool(scope.WithName("pool"), ops::Fill(scope, Tensor::Vector<int32_t>({1, 4, 4, 1}), 1.0F),
                             {1, 1.5, 1.5, 1})
          .output.op(),
      Dataset::Range(scope, 5).Shuffle(3).MakeIterator().initializer()};
  for (const Operation& operation : unseeded) {
    EXPECT_THAT(RunDeterministic(scope, operation), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(kNeedsSeed)))
        << operation.name();
  }
  const absl::Status status = RunDeterministic(scope, unseeded[0]);
  EXPECT_EQ(OriginOf(status)->node, "uniform");
  EXPECT_THAT(OriginOf(status)->device, HasSubstr("CPU:0"));
}

TEST(DeterministicSessionTest, RejectsOpsThatAreRandomByDefinition) {
  const Scope scope = Scope::NewRoot();
  const Output ints = ops::NonDeterministicInts(scope.WithName("ints"), Tensor::Vector<int32_t>({2}));
  EXPECT_THAT(RunDeterministic(scope, ints.op()),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("op NonDeterministicInts of node 'ints'"), HasSubstr("device:CPU:0"))));
}

TEST(DeterministicSessionTest, RejectsUnseededOpsInFunctionsOfDatasets) {
  const Scope scope = Scope::NewRoot();
  const auto noise = [](const Scope& inner, const OutputList& element) -> OutputList {
    return {ops::RandomUniform(inner, Tensor::Vector<int32_t>({1}), DT_FLOAT)};
  };
  const DataIterator iterator = Dataset::Range(scope, 5).Map(noise).MakeIterator();
  const Output next = iterator.GetNext(scope)[0];
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(scope, {.deterministic = true}));
  ASSERT_THAT(session->RunTargets({iterator.initializer()}), IsOk());
  EXPECT_THAT(session->Run({next}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(kNeedsSeed)));
}

TEST(DeterministicSessionTest, SumsGradientsInAnOrderOfTheirValues) {
  const Scope scope = Scope::NewRoot();
  // In float, 1e8 + 1 is 1e8: the sum shows its order.
  const std::vector<float> gradients = {1e8F, 1.0F, -1e8F, 3.0F};
  const Output accumulator =
      ops::ResourceConditionalAccumulator(scope, DT_FLOAT, TensorShape(), {.reduction_type = "SUM"});
  const Output gradient = ops::Placeholder(scope, DT_FLOAT);
  const Operation apply =
      ops::ResourceAccumulatorApplyGradient(scope, accumulator, Tensor::Scalar<int64_t>(100), gradient);
  const Output taken = ops::ResourceAccumulatorTakeGradient(scope, accumulator, 4, DT_FLOAT);
  ASSERT_THAT(scope.status(), IsOk());
  const auto sum_of = [&](bool deterministic, const std::vector<int>& order) -> absl::StatusOr<float> {
    ASSIGN_OR_RETURN(const auto session, Session::Local(scope, {.deterministic = deterministic}));
    for (const int i : order) {
      RETURN_IF_ERROR(session->Run({{gradient, Tensor::Scalar(gradients[i])}}, {}, {apply}).status());
    }
    ASSIGN_OR_RETURN(const std::vector<Tensor> sum, session->Run({taken}));
    return sum[0].scalar<float>();
  };
  const std::vector<int> some = {0, 1, 2, 3}, other = {0, 2, 1, 3};
  ASSERT_OK_AND_ASSIGN(const float first, sum_of(true, some));
  ASSERT_OK_AND_ASSIGN(const float second, sum_of(true, other));
  EXPECT_EQ(first, second);
  ASSERT_OK_AND_ASSIGN(const float arrived_first, sum_of(false, some));
  ASSERT_OK_AND_ASSIGN(const float arrived_second, sum_of(false, other));
  EXPECT_NE(arrived_first, arrived_second);
}

TEST(DeterministicSessionTest, FollowsTensorFlowsVariable) {
  const Scope scope = Scope::NewRoot();
  const Operation uniform = ops::RandomUniform(scope, Tensor::Vector<int32_t>({2}), DT_FLOAT).op();
  ASSERT_EQ(setenv("TF_DETERMINISTIC_OPS", "true", 1), 0);
  const auto session = Session::Local(scope);
  ASSERT_EQ(setenv("TF_DETERMINISTIC_OPS", "maybe", 1), 0);
  const auto malformed = Session::Local(scope);
  ASSERT_EQ(unsetenv("TF_DETERMINISTIC_OPS"), 0);
  ASSERT_THAT(session, IsOk());
  EXPECT_THAT((*session)->RunTargets({uniform}), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(kNeedsSeed)));
  EXPECT_THAT(malformed.status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("TF_DETERMINISTIC_OPS is 'maybe'")));
}

}  // namespace
}  // namespace weir
