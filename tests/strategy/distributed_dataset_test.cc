// Each replica gets its rows of each global batch, in order, on one task and on several.
#include "client/strategy/distributed_dataset.h"
#include "client/ops.h"
#include "client/session.h"
#include "client/strategy/mirrored_strategy.h"
#include "client/strategy/multi_worker_mirrored_strategy.h"
#include "client/strategy/parameter_server_strategy.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// 0, 1, 2, … 11 in batches.
DatasetFunction Counting(int64_t batch) {
  return [batch](const Scope& scope, const InputContext&) {
    const DataTypeVector types = {DT_INT64};
    const Output range =
        ops::RangeDataset(scope, int64_t{0}, int64_t{12}, int64_t{1}, types, {PartialTensorShape(TensorShape())});
    const std::vector<PartialTensorShape> shapes = {*PartialTensorShape::Build({-1})};
    return DatasetOutput{ops::BatchDatasetV2(scope, range, batch, false, types, shapes), types, shapes};
  };
}

void ExpectBatches(Session& session, const DistributedDataset& dataset,
                   const std::vector<std::vector<std::vector<int64_t>>>& steps) {
  ASSERT_THAT(session.RunTargets({dataset.initializer()}), IsOk());
  for (const auto& step : steps) {
    ASSERT_OK_AND_ASSIGN(const auto parts, session.Run(dataset.next()[0].values()));
    ASSERT_EQ(parts.size(), step.size());
    for (size_t i = 0; i < step.size(); ++i) ExpectTensorEqual(parts[i], AsTensor<int64_t>(step[i]));
  }
  EXPECT_THAT(session.Run(dataset.next()[0].values()), StatusIs(absl::StatusCode::kOutOfRange));
}

TEST(DistributedDatasetTest, CutsGlobalBatchesOnOneTask) {
  const Scope root = Scope::NewRoot();
  ASSERT_OK_AND_ASSIGN(const auto strategy, MirroredStrategy(root, {.devices = {"/device:CPU:0", "/device:CPU:1"}}));
  const DistributedDataset dataset = DistributeDataset(*strategy, Counting(5), {.global_batch_size = 5});
  ASSERT_THAT(root.status(), IsOk());
  SessionOptions options;
  (*options.config->mutable_device_count())["CPU"] = 2;
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Local(root, options));
  // The last batch has two rows, all of which go to the first replica: there is no step of it.
  for (int pass = 0; pass < 2; ++pass) {
    ExpectBatches(*session, dataset, {{{0, 1, 2}, {3, 4}}, {{5, 6, 7}, {8, 9}}});
  }
}

TEST(DistributedDatasetTest, CutsGlobalBatchesAmongTasks) {
  ASSERT_OK_AND_ASSIGN(const auto cluster, ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"worker", 3}}}));
  const Scope root = Scope::NewRoot();
  ASSERT_OK_AND_ASSIGN(const auto strategy, MultiWorkerMirroredStrategy(root, {.cluster = cluster->spec()}));
  const DistributedDataset dataset = DistributeDataset(*strategy, Counting(4), {.global_batch_size = 4});
  ASSERT_THAT(root.status(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Connect(cluster->Target("worker", 0), root));
  ExpectBatches(*session, dataset, {{{0, 1}, {2}, {3}}, {{4, 5}, {6}, {7}}, {{8, 9}, {10}, {11}}});
}

TEST(DistributedDatasetTest, AsynchronousWorkersWithGraphsOfTheirOwnShareTheInput) {
  ASSERT_OK_AND_ASSIGN(const ClusterSpec cluster,
                       ClusterSpec::FromJson(R"({"ps": ["localhost:1"], "worker": ["localhost:2", "localhost:3"]})"));
  for (int worker = 0; worker < 2; ++worker) {
    const Scope root = Scope::NewRoot();
    ASSERT_OK_AND_ASSIGN(const auto strategy,
                         ParameterServerStrategy::Create(
                             root, {.cluster = cluster, .worker = worker, .steps = WorkerSteps::kAsynchronous}));
    InputContext seen;
    DistributeDataset(*strategy, [&seen](const Scope& scope, const InputContext& input) {
      seen = input;
      return Counting(1)(scope, input);
    });
    ASSERT_THAT(root.status(), IsOk());
    EXPECT_EQ(seen.num_input_pipelines, 2);
    EXPECT_EQ(seen.input_pipeline_id, worker);
    EXPECT_EQ(seen.num_replicas_in_sync, 1);
  }
}

TEST(DistributedDatasetTest, NamesWhatCannotBeCut) {
  const Scope root = Scope::NewRoot();
  ASSERT_OK_AND_ASSIGN(const auto strategy, MirroredStrategy(root, {.devices = {"/device:CPU:0", "/device:CPU:1"}}));
  DistributeDataset(*strategy, Counting(1), {.global_batch_size = 1});
  EXPECT_THAT(root.status(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no row for each of the 2")));
}

}  // namespace
}  // namespace weir
