// One client, graph and master a worker, with collectives between them.
#include <future>

#include "client/strategy/mirrored_strategy.h"
#include "client/strategy/multi_worker_mirrored_strategy.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "tests/strategy/training_run.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class MultiWorkerBetweenGraphsTest : public testing::TestWithParam<int> {};

TEST_P(MultiWorkerBetweenGraphsTest, TrainsAsOneDeviceDoes) {
  constexpr int kWorkers = 3;
  const LossFunction loss = std::vector<LossFunction>{MlpLoss, EmbeddingLoss, StatisticsLoss}[GetParam()];
  const auto optimizer = [] { return AdamOptimizer(0.02); };
  const auto local = [](const Scope& scope) { return Session::Local(scope); };
  ASSERT_OK_AND_ASSIGN(const auto one, OneDeviceStrategy(Scope::NewRoot(), "/device:CPU:0"));
  ASSERT_OK_AND_ASSIGN(const TrainedModel expected, TrainInGraph(*one, local, loss, optimizer));

  ASSERT_OK_AND_ASSIGN(const auto cluster,
                       ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"worker", kWorkers}}}));
  std::vector<FutureModel> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.push_back(std::async(std::launch::async, [&, i]() -> absl::StatusOr<TrainedModel> {
      ASSIGN_OR_RETURN(const auto strategy,
                       MultiWorkerMirroredStrategy(Scope::NewRoot(), {.cluster = cluster->spec(), .worker = i}));
      return TrainBetweenGraphs(
          *strategy, cluster->Target("worker", i), loss, optimizer,
          [](Strategy&, Session& session, const Operation& initialize) { return session.RunTargets({initialize}); },
          [](Strategy&) { return std::vector<Operation>(); });
    }));
  }
  ExpectMeanLosses(workers, expected);
}

INSTANTIATE_TEST_SUITE_P(Models, MultiWorkerBetweenGraphsTest, testing::Range(0, 3));

TEST(MultiWorkerMirroredStrategyTest, NamesWhatIsWrongWithItsOptions) {
  ClusterSpec spec;
  ASSERT_THAT(spec.AddTask("worker", 0, "localhost:2000"), IsOk());
  const auto error = [](MultiWorkerMirroredOptions options) {
    return MultiWorkerMirroredStrategy(Scope::NewRoot(), std::move(options)).status();
  };
  EXPECT_THAT(error({}), StatusIs(kInvalid, HasSubstr("chief, worker")));
  EXPECT_THAT(error({.cluster = spec, .worker = 1}),
              StatusIs(kInvalid, HasSubstr("no worker 1 among /job:worker/replica:0/task:0")));
  EXPECT_THAT(error({.cluster = spec, .local_devices = {}}), StatusIs(kInvalid, HasSubstr("at least one device")));
}

}  // namespace
}  // namespace weir
