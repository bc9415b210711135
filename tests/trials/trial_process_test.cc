// Trials side by side on one cluster, one task of which is killed.

#include <latch>

#include "client/initializers.h"
#include "client/ops.h"
#include "client/optimizer.h"
#include "client/trials/trial_runner.h"
#include "client/variables.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"

namespace weir {
namespace {

constexpr int kTrials = 4;

// Minimises (w - 3)^2 from 0 on the trial's task; `between` runs after its first step. Gives what is left.
absl::StatusOr<double> Descend(TrialContext& context, const std::function<void()>& between) {
  const Scope scope = Scope::NewRoot().WithDevice(context.device());
  const ResourceVariable w =
      ResourceVariable::Make(scope.WithName("w"), TensorShape(), DT_FLOAT, initializers::Zeros());
  const Output loss = ops::Square(scope, ops::Sub(scope, w.value(), 3.0f));
  const Operation train = GradientDescentOptimizer(context.Get("rate"))->Minimize(scope, loss);
  const Operation initialize = InitializeAll(scope);
  absl::StatusOr<std::unique_ptr<Session>> session = context.Connect(scope);
  if (session.ok()) session.value()->RunTargets({initialize}).IgnoreError();
  between();
  RETURN_IF_ERROR(session.status());
  for (int64_t step = 0; step < context.budget(); ++step) RETURN_IF_ERROR(session.value()->RunTargets({train}));
  ASSIGN_OR_RETURN(const std::vector<Tensor> left, session.value()->Run({loss}));
  return left[0].scalar<float>();
}

TEST(TrialProcessTest, TheLossOfATaskFailsItsTrialsAndNoOthers) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<ProcessCluster> cluster,
                       ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"worker", 2}}}));
  std::latch all_begun(kTrials), killed(1);
  TrialRunner runner(
      [&](TrialContext& context) {
        return Descend(context, [&] {
          all_begun.arrive_and_wait();
          if (context.index() == 1) {
            cluster->Kill("worker", 1);
            killed.count_down();
          }
          killed.wait();
        });
      },
      {.target = cluster->Target("worker", 0),
       .devices = {"/job:worker/task:0", "/job:worker/task:1"},
       .parallel_trials = kTrials,
       .budget = 4});
  ASSERT_OK_AND_ASSIGN(const auto trials, GridSearch({{"rate", Parameter::Choice({0.5, 0.5, 0.1, 0.1})}}));
  const std::vector<TrialResult> results = runner.Run(trials);
  ASSERT_THAT(results[0].status, IsOk());
  ASSERT_THAT(results[2].status, IsOk());
  EXPECT_NEAR(*results[0].objective, 0, 1e-6);  // the others' w is not its own
  EXPECT_NEAR(*results[2].objective, 9 * std::pow(0.8, 8), 1e-4);
  for (const int lost : {1, 3}) EXPECT_FALSE(results[lost].status.ok());
}

}  // namespace
}  // namespace weir
