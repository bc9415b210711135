// Synchronous strategies go on after the loss of a task, and end with the variables of a training that lost none.
#include <future>

#include "client/strategy/central_storage_strategy.h"
#include "client/strategy/mirrored_strategy.h"
#include "client/strategy/multi_worker_mirrored_strategy.h"
#include "client/strategy/parameter_server_strategy.h"
#include "core/testing.h"
#include "tests/recovery/strategy_training.h"

namespace weir {
namespace {

using StrategyOr = absl::StatusOr<std::unique_ptr<Strategy>>;

const std::map<std::string, int> kTwoWorkers = {{"worker", 2}}, kPsAndWorkers = {{"ps", 2}, {"worker", 3}};

std::vector<std::string> DevicesOfSecondWorker() {
  std::vector<std::string> devices;
  for (int i = 0; i < 3; ++i) devices.push_back(absl::StrCat("/job:worker/replica:0/task:1/device:CPU:", i));
  return devices;
}

StrategyOr MakeParameterServer(const Scope& root, const ClusterSpec& cluster, WorkerSteps steps) {
  return ParameterServerStrategy::Create(root, {.cluster = cluster, .steps = steps});
}

const std::vector<StrategyMode>& Modes() {
  static const auto* modes = new std::vector<StrategyMode>{
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
      {"ParameterServerTogether", kPsAndWorkers,
       [](const Scope& root, const ClusterSpec& cluster) {
         return MakeParameterServer(root, cluster, WorkerSteps::kTogether);
       }},
      {"ParameterServerSynchronous", kPsAndWorkers, [](const Scope& root, const ClusterSpec& cluster) {
         return MakeParameterServer(root, cluster, WorkerSteps::kSynchronous);
       }}};
  return *modes;
}

class StrategyRecoveryTest : public testing::TestWithParam<std::tuple<int, Fault>> {};

TEST_P(StrategyRecoveryTest, EndsAsATrainingWithoutLosses) {
  const StrategyMode& mode = Modes()[std::get<0>(GetParam())];
  auto other = std::async(std::launch::async, [&mode] { return TrainUnderLoss(mode, Fault::kNone); });
  ASSERT_OK_AND_ASSIGN(const StrategyOutcome outcome, TrainUnderLoss(mode, std::get<1>(GetParam())));
  EXPECT_GE(outcome.num_recoveries, 1);
  EXPECT_EQ(outcome.global_step, kSteps);
  ASSERT_OK_AND_ASSIGN(const StrategyOutcome undisturbed, other.get());
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
