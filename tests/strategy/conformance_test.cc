// Every strategy trains as one device does: the same losses, variables, slots, statistics.
#include "client/strategy/central_storage_strategy.h"
#include "client/strategy/mirrored_strategy.h"
#include "client/strategy/multi_worker_mirrored_strategy.h"
#include "client/strategy/parameter_server_strategy.h"
#include "client/training/loss_scaling.h"
#include "core/gpu/simulated_platform.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tests/gpu/local_session.h"
#include "tests/strategy/training_run.h"

namespace weir {
namespace {

using StrategyOr = absl::StatusOr<std::unique_ptr<Strategy>>;

absl::StatusOr<std::unique_ptr<Session>> OpenLocal(const Scope& scope) {
  SessionOptions options;
  (*options.config->mutable_device_count())["CPU"] = 3;
  return Session::Local(scope, options);
}

// Ops that have no kernel for GPUs go to the CPU.
absl::StatusOr<std::unique_ptr<Session>> OpenOnGpus(const Scope& scope) {
  SessionOptions options;
  options.config->set_allow_soft_placement(true);
  return LocalSessionOn(SimulatedPlatform(2), scope, options);
}

struct Backend {
  std::string name;
  std::function<StrategyOr(const Scope& root, const ClusterSpec& cluster)> make;
  std::map<std::string, int> jobs;  // of a cluster of processes; none: a local session
  bool on_gpus = false;             // a local session with two simulated GPUs
};

std::vector<std::string> Cpus(int n) {
  std::vector<std::string> devices;
  for (int i = 0; i < n; ++i) devices.push_back(absl::StrCat("/job:localhost/replica:0/task:0/device:CPU:", i));
  return devices;
}

std::vector<std::string> Gpus(int n) {
  std::vector<std::string> devices;
  for (int i = 0; i < n; ++i) devices.push_back(absl::StrCat("/job:localhost/replica:0/task:0/device:GPU:", i));
  return devices;
}

struct Model {
  std::string name;
  LossFunction loss;
  MakeOptimizer optimizer;
};

const std::vector<Model>& Models() {
  static const auto* models = new std::vector<Model>{
      {"MlpMomentum", MlpLoss, [] { return MomentumOptimizer(0.02, 0.9); }},
      {"MlpAdam", MlpLoss, [] { return AdamOptimizer(0.02); }},
      {"EmbeddingSgd", EmbeddingLoss, [] { return GradientDescentOptimizer(0.1); }},
      {"EmbeddingMomentum", EmbeddingLoss, [] { return MomentumOptimizer(0.05, 0.5); }},
      {"EmbeddingAdam", EmbeddingLoss, [] { return AdamOptimizer(0.2); }},
      {"ScaledMomentum", FragileLoss,
       [] { return LossScaleOptimizer(MomentumOptimizer(0.02, 0.9), {.initial_scale = 64, .growth_steps = 3}); }},
      {"Statistics", StatisticsLoss, [] { return AdagradOptimizer(0.1); }},
  };
  return *models;
}

const std::map<std::string, int> kPsAndWorkers = {{"ps", 2}, {"worker", 3}};

const std::vector<Backend>& Backends() {
  static const auto* backends = new std::vector<Backend>{
      {"OneDevice", [](const Scope& root, const ClusterSpec&) { return OneDeviceStrategy(root, "/device:CPU:1"); }},
      {"Mirrored", [](const Scope& root, const ClusterSpec&) { return MirroredStrategy(root, {.devices = Cpus(3)}); }},
      {"MirroredByCollectives",
       [](const Scope& root, const ClusterSpec&) {
         return MirroredStrategy(root, {.devices = Cpus(3), .cross_device = CrossDevice::kCollectiveOps});
       }},
      {"MirroredInSmallPacks",
       [](const Scope& root, const ClusterSpec&) {
         return MirroredStrategy(root, {.devices = Cpus(3),
                                        .cross_device = CrossDevice::kCollectiveOps,
                                        .communication = {.bytes_per_pack = 64, .wire = "lz4"}});
       }},
      {"OneGpu",
       [](const Scope& root, const ClusterSpec&) { return OneDeviceStrategy(root, "/device:GPU:1"); },
       {},
       /*on_gpus=*/true},
      {"MirroredOnGpus",
       [](const Scope& root, const ClusterSpec&) {
         return MirroredStrategy(root, {.devices = Gpus(2), .cross_device = CrossDevice::kOneDevice});
       },
       {},
       /*on_gpus=*/true},
      {"MirroredOnGpusByCollectives",
       [](const Scope& root, const ClusterSpec&) { return MirroredStrategy(root, {.devices = Gpus(2)}); },
       {},
       /*on_gpus=*/true},
      {"CentralStorage",
       [](const Scope& root, const ClusterSpec&) { return CentralStorageStrategy(root, {.devices = Cpus(3)}); }},
      {"ParameterServer",
       [](const Scope& root, const ClusterSpec& cluster) -> StrategyOr {
         return ParameterServerStrategy::Create(root, {.cluster = cluster});
       },
       kPsAndWorkers},
      {"MultiWorkerMirrored",
       [](const Scope& root, const ClusterSpec& cluster) -> StrategyOr {
         return MultiWorkerMirroredStrategy(root, {.cluster = cluster});
       },
       {{"worker", 3}}},
      {"ParameterServerCompressed",
       [](const Scope& root, const ClusterSpec& cluster) -> StrategyOr {
         return ParameterServerStrategy::Create(root, {.cluster = cluster, .wire = "lz4"});
       },
       kPsAndWorkers},
      {"ParameterServerRoundRobin",
       [](const Scope& root, const ClusterSpec& cluster) -> StrategyOr {
         return ParameterServerStrategy::Create(root, {.cluster = cluster, .place = PlaceVariables::kRoundRobin});
       },
       kPsAndWorkers},
      {"ParameterServerSynchronous",
       [](const Scope& root, const ClusterSpec& cluster) -> StrategyOr {
         return ParameterServerStrategy::Create(root, {.cluster = cluster, .steps = WorkerSteps::kSynchronous});
       },
       kPsAndWorkers},
  };
  return *backends;
}

absl::StatusOr<TrainedModel> Train(const Backend& backend, const Model& model) {
  const Scope root = Scope::NewRoot();
  std::unique_ptr<ProcessCluster> cluster;
  MakeSession open = backend.on_gpus ? OpenOnGpus : OpenLocal;
  if (!backend.jobs.empty()) {
    ASSIGN_OR_RETURN(cluster, ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = backend.jobs}));
    open = [&](const Scope& scope) { return Session::Connect(cluster->Target("worker", 0), scope); };
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Strategy> strategy,
                   backend.make(root, cluster != nullptr ? cluster->spec() : ClusterSpec()));
  return TrainInGraph(*strategy, open, model.loss, model.optimizer);
}

class StrategyConformanceTest : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(StrategyConformanceTest, TrainsAsOneDeviceDoes) {
  const Backend& backend = Backends()[std::get<0>(GetParam())];
  const Model& model = Models()[std::get<1>(GetParam())];
  if (backend.name == "ParameterServerSynchronous" && model.name == "Statistics") {
    GTEST_SKIP() << "Workers with steps of their own do not aggregate what they write";
  }
  ASSERT_OK_AND_ASSIGN(
      const TrainedModel expected,
      Train({"", [](const Scope& root, const ClusterSpec&) { return OneDeviceStrategy(root, "/device:CPU:0"); }, {}},
            model));
  EXPECT_NE(expected.losses.back(), expected.losses.front());
  ASSERT_OK_AND_ASSIGN(const TrainedModel actual, Train(backend, model));
  ExpectSameTraining(actual, expected);
}

INSTANTIATE_TEST_SUITE_P(All, StrategyConformanceTest,
                         testing::Combine(testing::Range(0, static_cast<int>(Backends().size())),
                                          testing::Range(0, static_cast<int>(Models().size()))),
                         [](const auto& info) {
                           return Backends()[std::get<0>(info.param)].name + Models()[std::get<1>(info.param)].name;
                         });

}  // namespace
}  // namespace weir
