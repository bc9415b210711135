// Two workers that sum their gradients by collectives, and servers that were started deterministic.
#include <future>

#include "client/ops.h"
#include "client/strategy/multi_worker_mirrored_strategy.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "tests/strategy/training_run.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// The variables and losses of both workers, as bytes.
absl::StatusOr<std::string> TrainOnTwoWorkers(int threads) {
  ASSIGN_OR_RETURN(const auto cluster,
                   ProcessCluster::Start({.program = WEIR_PROGRAM,
                                          .jobs = {{"worker", 2}},
                                          .flags = {"--deterministic", "--threads", std::to_string(threads)}}));
  const auto train = [&](int worker) -> absl::StatusOr<TrainedModel> {
    ASSIGN_OR_RETURN(const auto strategy,
                     MultiWorkerMirroredStrategy(Scope::NewRoot(), {.cluster = cluster->spec(), .worker = worker}));
    return TrainBetweenGraphs(
        *strategy, cluster->Target("worker", worker), EmbeddingLoss, [] { return AdamOptimizer(0.02); },
        [](Strategy&, Session& session, const Operation& initialize) { return session.RunTargets({initialize}); },
        [](Strategy&) { return std::vector<Operation>(); });
  };
  auto other = std::async(std::launch::async, [&] { return train(1); });
  const absl::StatusOr<TrainedModel> models[] = {train(0), other.get()};
  std::string bits;
  for (const absl::StatusOr<TrainedModel>& model : models) {
    RETURN_IF_ERROR(model.status());
    bits.append(reinterpret_cast<const char*>(model->losses.data()), model->losses.size() * sizeof(float));
    for (const auto& [name, value] : model->variables) {
      bits.append(static_cast<const char*>(value.raw_data()), value.TotalBytes());
    }
  }
  return bits;
}

TEST(DeterministicClusterTest, CollectivesGiveTheSameBits) {
  ASSERT_OK_AND_ASSIGN(const std::string expected, TrainOnTwoWorkers(1));
  for (const int threads : {2, 3, 8}) {
    ASSERT_OK_AND_ASSIGN(const std::string bits, TrainOnTwoWorkers(threads));
    EXPECT_TRUE(bits == expected) << threads << " threads";
  }
}

// A client that knows nothing of the option.
absl::Status RunUnseededOp(const ProcessCluster::Options& options, const std::string& device) {
  ASSIGN_OR_RETURN(const auto cluster, ProcessCluster::Start(options));
  const Scope scope = Scope::NewRoot();
  const Output uniform = ops::RandomUniform(scope.WithDevice(device), Tensor::Vector<int32_t>({2}), DT_FLOAT);
  ASSIGN_OR_RETURN(const auto session, Session::Connect(cluster->Target("worker", 0), scope));
  return session->Run({uniform}).status();
}

TEST(DeterministicClusterTest, ServersCanBeDeterministicForAllSessions) {
  ProcessCluster::Options options{.program = WEIR_PROGRAM, .jobs = {{"worker", 2}}};
  EXPECT_THAT(RunUnseededOp(options, "/job:worker/task:1"), IsOk());
  const auto refused = StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("random ops must have a seed"));
  options.flags = {"--deterministic"};
  EXPECT_THAT(RunUnseededOp(options, "/job:worker/task:1"), refused);
  options.flags.clear();
  options.environment = {"TF_DETERMINISTIC_OPS=1"};
  EXPECT_THAT(RunUnseededOp(options, "/job:worker/task:1"), refused);
}

}  // namespace
}  // namespace weir
