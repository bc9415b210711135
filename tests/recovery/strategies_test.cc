// Synchronous strategies go on after the loss of a task, and end with the variables of a training that lost none.
#include "client/strategy/central_storage_strategy.h"
#include "client/strategy/mirrored_strategy.h"
#include "client/strategy/multi_worker_mirrored_strategy.h"
#include "client/strategy/parameter_server_strategy.h"
#include "client/training_loop.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "tests/recovery/faults.h"
#include "tests/strategy/training_run.h"

namespace weir {
namespace {

using StrategyOr = absl::StatusOr<std::unique_ptr<Strategy>>;

struct Mode {
  std::string name;
  std::map<std::string, int> jobs;
  std::function<StrategyOr(const Scope& root, const ClusterSpec& cluster)> make;
};

const std::map<std::string, int> kTwoWorkers = {{"worker", 2}}, kPsAndWorkers = {{"ps", 2}, {"worker", 3}};

std::vector<std::string> DevicesOfSecondWorker() {
  std::vector<std::string> devices;
  for (int i = 0; i < 3; ++i) devices.push_back(absl::StrCat("/job:worker/replica:0/task:1/device:CPU:", i));
  return devices;
}

StrategyOr MakeParameterServer(const Scope& root, const ClusterSpec& cluster, WorkerSteps steps, int staleness = -1) {
  return ParameterServerStrategy::Create(root, {.cluster = cluster, .steps = steps, .staleness_bound = staleness});
}

const std::vector<Mode>& Modes() {
  static const auto* modes = new std::vector<Mode>{
      {"Mirrored", kTwoWorkers,
       [](const Scope& root, const ClusterSpec&) {
         return MirroredStrategy(root, {.devices = DevicesOfSecondWorker()});
       }},
      {"MirroredByCollectives", kTwoWorkers,
       [](const Scope& root, const ClusterSpec&) {
         return MirroredStrategy(root,
                                 {.devices = DevicesOfSecondWorker(), .cross_device = CrossDevice::kCollectiveOps});
       }},
      {"CentralStorage", kTwoWorkers,
       [](const Scope& root, const ClusterSpec&) {
         return CentralStorageStrategy(root, {.devices = DevicesOfSecondWorker()});
       }},
      {"MultiWorkerMirrored",
       {{"worker", 3}},
       [](const Scope& root, const ClusterSpec& cluster) -> StrategyOr {
         return MultiWorkerMirroredStrategy(root, {.cluster = cluster});
       }},
      {"ParameterServerTogether", kPsAndWorkers, [](const Scope& root, const ClusterSpec& cluster) {
         return MakeParameterServer(root, cluster, WorkerSteps::kTogether);
       }}};
  return *modes;
}

struct Outcome {
  int64_t global_step = 0;
  int num_recoveries = 0;
  std::map<std::string, Tensor> variables;
};

absl::StatusOr<Outcome> Train(const Mode& mode, Fault fault) {
  const ScratchDirectory directory;
  ASSIGN_OR_RETURN(const auto cluster, ProcessCluster::Start({.program = WEIR_PROGRAM,
                                                              .jobs = mode.jobs,
                                                              .flags = {"--deterministic", "--cpu-devices", "3"},
                                                              .restart = true}));
  const Scope root = Scope::NewRoot();
  ASSIGN_OR_RETURN(const std::unique_ptr<Strategy> strategy, mode.make(root, cluster->spec()));
  ASSIGN_OR_RETURN(const Training training,
                   BuildTraining(*strategy, EmbeddingLoss, [] { return AdamOptimizer(0.02); }));
  const auto hook = std::make_shared<FaultHook>(fault, cluster.get(), mode.jobs, 6, 14);
  TrainingLoopOptions options;
  options.train = training.train;
  options.global_step = training.global_step;
  options.feeds = [&](int64_t step) { return FeedsOfStep(*strategy, training, static_cast<int>(step)); };
  options.hooks = {hook};
  options.max_steps = kSteps;
  options.checkpoint_dir = directory.Path("checkpoints");
  options.checkpoint_steps = 5;
  options.recovery_timeout = absl::Seconds(60);
  options.resume = strategy->Resume();
  TrainingLoop loop(strategy->Scope(), options);
  RETURN_IF_ERROR(strategy->Scope().status());
  ASSIGN_OR_RETURN(const auto session, Session::Connect(cluster->Target("worker", 0), strategy->Scope(),
                                                        {.call_timeout = absl::Seconds(60)}));
  Outcome outcome;
  absl::StatusOr<int64_t> reached = loop.Run(*session);
  if (!reached.ok()) return Annotate(reached.status(), hook->description());
  outcome.global_step = *reached;
  outcome.num_recoveries = hook->num_recoveries();
  ASSIGN_OR_RETURN(const std::vector<Tensor> values, session->Run(training.reads));
  for (size_t i = 0; i < values.size(); ++i) {
    outcome.variables[strategy->Scope().variables()[i].name()] = values[i];
  }
  return outcome;
}

class StrategyRecoveryTest : public testing::TestWithParam<std::tuple<int, Fault>> {};

TEST_P(StrategyRecoveryTest, EndsAsATrainingWithoutLosses) {
  const Mode& mode = Modes()[std::get<0>(GetParam())];
  ASSERT_OK_AND_ASSIGN(const Outcome outcome, Train(mode, std::get<1>(GetParam())));
  EXPECT_GE(outcome.num_recoveries, 1);
  EXPECT_EQ(outcome.global_step, kSteps);
  ASSERT_OK_AND_ASSIGN(const Outcome undisturbed, Train(mode, Fault::kNone));
  EXPECT_EQ(undisturbed.num_recoveries, 0);
  ASSERT_EQ(outcome.variables.size(), undisturbed.variables.size());
  for (const auto& [name, value] : undisturbed.variables) {
    ASSERT_TRUE(outcome.variables.contains(name)) << name;
    ExpectTensorEqual(outcome.variables.at(name), value, name);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, StrategyRecoveryTest,
                         testing::Combine(testing::Range(0, static_cast<int>(Modes().size())),
                                          testing::Values(Fault::kKill, Fault::kStop, Fault::kKillMaster)),
                         [](const auto& info) {
                           return absl::StrCat(Modes()[std::get<0>(info.param)].name, "_",
                                               FaultName(std::get<1>(info.param)));
                         });

}  // namespace
}  // namespace weir
