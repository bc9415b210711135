#include "tests/recovery/strategy_training.h"

#include "core/files/scratch_directory_testing.h"

namespace weir {

absl::StatusOr<StrategyOutcome> TrainUnderLoss(const StrategyMode& mode, Fault fault) {
  const ScratchDirectory directory;
  ASSIGN_OR_RETURN(const auto cluster, ProcessCluster::Start({.program = WEIR_PROGRAM,
                                                              .jobs = mode.jobs,
                                                              .flags = {"--deterministic", "--cpu-devices", "3"},
                                                              .restart = true}));
  const Scope root = Scope::NewRoot();
  ASSIGN_OR_RETURN(const std::unique_ptr<Strategy> strategy, mode.make(root, cluster->spec()));
  ASSIGN_OR_RETURN(const Training training, BuildTraining(*strategy, mode.loss, mode.make_optimizer));
  const auto hook = std::make_shared<FaultHook>(fault, cluster.get(), mode.jobs, 6, 14);
  TrainingLoopOptions options;
  options.train = training.train;
  options.global_step = training.global_step;
  options.fetches = {training.mean_loss};
  options.feeds = [&](int64_t step) { return FeedsOfStep(*strategy, training, static_cast<int>(step)); };
  options.hooks = {hook, NanHook(0)};
  options.max_steps = kSteps;
  options.checkpoint_dir = directory.Path("checkpoints");
  options.checkpoint_steps = 5;
  options.recovery_timeout = absl::Seconds(60);
  options.resume = strategy->Resume();
  options.role = mode.role;
  options.restore_after_failure = mode.restore_after_failure;
  TrainingLoop loop(strategy->Scope(), options);
  RETURN_IF_ERROR(strategy->Scope().status());
  ASSIGN_OR_RETURN(const auto session, Session::Connect(cluster->Target("worker", 0), strategy->Scope(),
                                                        {.call_timeout = absl::Seconds(60)}));
  absl::StatusOr<int64_t> reached = loop.Run(*session);
  if (!reached.ok()) return Annotate(reached.status(), hook->description());
  StrategyOutcome outcome{.global_step = *reached, .num_recoveries = hook->num_recoveries()};
  ASSIGN_OR_RETURN(const std::vector<Tensor> values, session->Run(training.reads));
  for (size_t i = 0; i < values.size(); ++i) {
    outcome.variables[strategy->Scope().variables()[i].name()] = values[i];
  }
  return outcome;
}

}  // namespace weir
