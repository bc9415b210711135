// Trials with local sessions, and the searches that select them.

#include <atomic>
#include <set>

#include "client/initializers.h"
#include "client/ops.h"
#include "client/optimizer.h"
#include "client/trials/trial_runner.h"
#include "client/variables.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(SearchSpaceTest, AGridHasEveryCombination) {
  ASSERT_OK_AND_ASSIGN(const auto grid,
                       GridSearch({{"a", Parameter::Choice({1, 2})}, {"b", Parameter::Integer(5, 7)}}));
  ASSERT_THAT(grid, SizeIs(6));
  EXPECT_EQ(ToString(grid[1]), "a=1, b=6");
  EXPECT_EQ(ToString(grid[5]), "a=2, b=7");
}

TEST(SearchSpaceTest, RandomTrialsStayWithinTheirRangesAndRepeatForASeed) {
  const SearchSpace space = {{"rate", Parameter::LogUniform(1e-4, 1)}, {"units", Parameter::Integer(1, 3)}};
  ASSERT_OK_AND_ASSIGN(const auto drawn, RandomSearch(space, 200, 7));
  ASSERT_OK_AND_ASSIGN(const auto again, RandomSearch(space, 200, 7));
  EXPECT_EQ(drawn, again);
  std::set<double> units;
  int small = 0;
  for (const HyperParameters& parameters : drawn) {
    EXPECT_GE(parameters.at("rate"), 1e-4);
    EXPECT_LE(parameters.at("rate"), 1);
    small += parameters.at("rate") < 1e-2 ? 1 : 0;
    units.insert(parameters.at("units"));
  }
  EXPECT_THAT(units, ElementsAre(1, 2, 3));
  EXPECT_GT(small, 60);  // half of them, on a logarithmic scale
}

TEST(SearchSpaceTest, SpacesThatCannotBeAreErrors) {
  EXPECT_THAT(GridSearch({{"a", Parameter::Uniform(0, 1)}}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(GridSearch({{"a", Parameter::Choice({})}}), StatusIs(absl::StatusCode::kInvalidArgument));
  constexpr int64_t kInexact = int64_t{1} << 53;
  for (const Parameter& integers :
       {Parameter::Integer(kInexact, kInexact + 10), Parameter::Integer(-kInexact, 3 - kInexact)}) {
    EXPECT_THAT(GridSearch({{"a", integers}}), StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_THAT(RandomSearch({{"a", Parameter::LogUniform(0, 1)}}, 2, 1), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(RandomSearch({{"a", Parameter::Uniform(0, 1)}}, -1, 1), StatusIs(absl::StatusCode::kInvalidArgument));
}

// Minimises (w - 3)^2 from 0 and returns the remaining error.
absl::StatusOr<double> Descend(TrialContext& context) {
  const Scope scope = Scope::NewRoot();
  const ResourceVariable w =
      ResourceVariable::Make(scope.WithName("w"), TensorShape(), DT_FLOAT, initializers::Zeros());
  const Output loss = ops::Square(scope, ops::Sub(scope, w.value(), 3.0f));
  const Operation train = GradientDescentOptimizer(context.Get("rate"))->Minimize(scope, loss);
  const Operation initialize = InitializeAll(scope);
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, context.Connect(scope));
  RETURN_IF_ERROR(session->RunTargets({initialize}));
  for (int64_t step = 0; step < context.budget(); ++step) RETURN_IF_ERROR(session->RunTargets({train}));
  ASSIGN_OR_RETURN(const std::vector<Tensor> left, session->Run({loss}));
  return left[0].scalar<float>();
}

TEST(TrialRunnerTest, TrialsOfEqualVariablesDoNotMeet) {
  ASSERT_OK_AND_ASSIGN(const auto trials, GridSearch({{"rate", Parameter::Choice({0.01, 0.5, 0.1})}}));
  TrialRunner runner(Descend, {.parallel_trials = 3, .budget = 4});
  const std::vector<TrialResult> results = runner.Run(trials);
  ASSERT_THAT(results, SizeIs(3));
  EXPECT_NEAR(*results[0].objective, 9 * std::pow(0.98, 8), 1e-4);
  EXPECT_NEAR(*results[1].objective, 0, 1e-6);
  EXPECT_NEAR(*results[2].objective, 9 * std::pow(0.8, 8), 1e-4);
}

TEST(TrialRunnerTest, ATrialThatFailsOrDivergesEndsNoOther) {
  TrialRunner runner(
      [](TrialContext& context) -> absl::StatusOr<double> {
        if (context.index() == 1) return errors::ResourceExhausted("too large");
        return context.index() == 2 ? std::nan("") : 1.5;
      },
      {.parallel_trials = 2});
  const std::vector<TrialResult> results = runner.Run(std::vector<HyperParameters>(4));
  EXPECT_EQ(results[3].objective, 1.5);
  EXPECT_THAT(results[1].status, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(results[2].status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nan")));
  const std::string table = ResultTable(results);
  EXPECT_LT(table.find("1.5"), table.find("too large"));
}

TEST(TrialRunnerTest, HalvingGivesTheBestMore) {
  std::vector<std::atomic<int64_t>> calls(9);
  TrialRunner runner(
      [&](TrialContext& context) -> absl::StatusOr<double> {
        ++calls[context.index()];
        return context.index() == 8 ? absl::StatusOr<double>(errors::Internal("broken")) : 10.0 - context.index();
      },
      {.parallel_trials = 4});
  ASSERT_OK_AND_ASSIGN(const auto results,
                       runner.RunHalving(std::vector<HyperParameters>(9), {.least_budget = 2, .most_budget = 18}));
  std::vector<int64_t> budgets;
  for (const TrialResult& result : results) budgets.push_back(result.budget);
  EXPECT_THAT(budgets, ElementsAre(2, 2, 2, 2, 2, 6, 6, 18, 2));
  EXPECT_EQ(calls[7], 3);
}

TEST(TrialRunnerTest, HalvingThatCannotBeIsAnError) {
  TrialRunner runner([](TrialContext&) { return 1.0; }, {});
  EXPECT_THAT(runner.RunHalving({}, {.least_budget = 5, .most_budget = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(runner.RunHalving({}, {.factor = 1}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(TrialRunnerTest, ATrialWorseThanTheMedianStops) {
  TrialRunner runner(
      [](TrialContext& context) -> absl::StatusOr<double> {
        const double objective = context.index();
        return context.Report(10, objective) ? 100 + objective : objective;
      },
      {.parallel_trials = 1, .median_stopping_after = 2});
  const std::vector<TrialResult> results = runner.Run(std::vector<HyperParameters>(4));
  EXPECT_FALSE(results[1].stopped_early);
  EXPECT_TRUE(results[2].stopped_early);
  EXPECT_EQ(results[3].objective, 103);
}

TEST(TrialRunnerTest, ATrialThatDivergesStopsAloneAndNoOther) {
  TrialRunner runner(
      [](TrialContext& context) -> absl::StatusOr<double> {
        const bool diverges = context.index() >= 2 && context.index() <= 5;
        return context.Report(10, diverges ? std::nan("") : 1.0) ? 2.0 : 1.0;
      },
      {.parallel_trials = 1, .median_stopping_after = 2});
  const std::vector<TrialResult> results = runner.Run(std::vector<HyperParameters>(8));
  for (const TrialResult& result : results) {
    EXPECT_EQ(result.stopped_early, result.index >= 2 && result.index <= 5) << result.index;
  }
}

TEST(TrialRunnerTest, ATrialThatAsksForWhatIsNotThereFailsAlone) {
  TrialRunner runner([](TrialContext& context) { return context.Get("rate"); }, {.parallel_trials = 2});
  const std::vector<TrialResult> results = runner.Run({{{"rate", 0.5}}, {{"decay", 0.5}}});
  EXPECT_EQ(results[0].objective, 0.5);
  EXPECT_THAT(results[1].status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'rate'")));
}

}  // namespace
}  // namespace weir
