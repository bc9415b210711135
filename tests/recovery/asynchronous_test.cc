// Asynchronous workers in one graph go on after the loss of a task. The order of their updates depends on timing, so
// the model counts them.
#include "client/strategy/parameter_server_strategy.h"
#include "core/testing.h"
#include "tests/recovery/counting_model.h"
#include "tests/recovery/strategy_training.h"

namespace weir {
namespace {

constexpr int kWorkers = 3;

StrategyMode AsynchronousMode(const std::string& name, int staleness_bound) {
  return {.name = name,
          .jobs = {{"ps", 2}, {"worker", kWorkers}},
          .make = [staleness_bound](const Scope& root,
                                    const ClusterSpec& cluster) -> absl::StatusOr<std::unique_ptr<Strategy>> {
            return ParameterServerStrategy::Create(
                root, {.cluster = cluster, .steps = WorkerSteps::kAsynchronous, .staleness_bound = staleness_bound});
          },
          .loss = CountingLoss,
          .make_optimizer = [] { return GradientDescentOptimizer(1.0); },
          .role = TrainingRole::kChief,
          // With a bound each worker waits for the one before, in the same step, to update and to release a mutex:
          // there is no decision that all of them could wait for.
          .restore_after_failure = staleness_bound >= 0};
}

class AsynchronousRecoveryTest : public testing::TestWithParam<Fault> {
 protected:
  // Whether each update changed all variables, and none of them counts twice.
  static void ExpectWholeUpdates(const StrategyOutcome& outcome) {
    EXPECT_GE(outcome.num_recoveries, 1);
    EXPECT_EQ(outcome.variables.at("global_step").scalar<int64_t>(), outcome.global_step);
    ExpectCounts(outcome.variables, outcome.global_step);
  }
};

TEST_P(AsynchronousRecoveryTest, EveryUpdateIsWhole) {
  ASSERT_OK_AND_ASSIGN(const StrategyOutcome outcome, TrainUnderLoss(AsynchronousMode("Free", -1), GetParam()));
  ExpectWholeUpdates(outcome);
  EXPECT_EQ(outcome.global_step, kSteps);  // a step is one of all workers
}

TEST_P(AsynchronousRecoveryTest, EveryUpdateIsWholeWithAStalenessBound) {
  ASSERT_OK_AND_ASSIGN(const StrategyOutcome outcome, TrainUnderLoss(AsynchronousMode("Bounded", 1), GetParam()));
  ExpectWholeUpdates(outcome);
  EXPECT_GE(outcome.global_step, kSteps);
  const int64_t dropped = outcome.variables.at("staleness/num_dropped").scalar<int64_t>();
  EXPECT_EQ((outcome.global_step + dropped) % kWorkers, 0) << dropped << " dropped";
}

INSTANTIATE_TEST_SUITE_P(Faults, AsynchronousRecoveryTest,
                         testing::Values(Fault::kKill, Fault::kStop, Fault::kKillMaster),
                         [](const auto& info) { return FaultName(info.param); });

}  // namespace
}  // namespace weir
