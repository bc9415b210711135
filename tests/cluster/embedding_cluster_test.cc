// Embeddings on parameter servers that are killed.
#include <map>
#include <thread>

#include "client/embedding/embedding_prefetch.h"
#include "client/embedding/embedding_saver.h"
#include "client/embedding/embedding_variable.h"
#include "client/gradients.h"
#include "client/ops.h"
#include "client/training_loop.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"

namespace weir {
namespace {

constexpr int64_t kSteps = 40, kKeys = 9;

// The keys of a step: 0, 1 and 2 of a ring of kKeys.
std::vector<int64_t> KeysOf(int64_t step) { return {step % kKeys, (step + 1) % kKeys, (step + 2) % kKeys}; }

// Kills one of the parameter servers at some steps, each once.
class Killer : public TrainingHook {
 public:
  Killer(ProcessCluster* cluster, std::map<int64_t, int> victims) : cluster_(cluster), victims_(std::move(victims)) {}
  absl::StatusOr<bool> AfterStep(Session&, const StepReport& report) override {
    const auto victim = victims_.find(report.global_step);
    if (victim == victims_.end()) return false;
    cluster_->Kill("ps", victim->second);
    victims_.erase(victim);
    return false;
  }
  // A server that stood still is recovered from too, but has lost nothing to restore.
  void Recovered(const RecoveryReport& report) override { restores += report.restored_from.empty() ? 0 : 1; }
  int restores = 0;

 private:
  ProcessCluster* const cluster_;
  std::map<int64_t, int> victims_;
};

// Kills a parameter server while one of the checkpoints is written.
class KillDuringSave : public TrainingState {
 public:
  KillDuringSave(std::shared_ptr<TrainingState> saver, ProcessCluster* cluster, std::string checkpoint)
      : saver_(std::move(saver)), cluster_(cluster), checkpoint_(std::move(checkpoint)) {}
  absl::Status Initialize(Session& session) override { return saver_->Initialize(session); }
  absl::StatusOr<bool> IsWhole(Session& session) override { return saver_->IsWhole(session); }
  absl::Status Save(Session& session, const std::string& checkpoint, const CheckpointLease* lease) override {
    if (checkpoint != checkpoint_) return saver_->Save(session, checkpoint, lease);
    checkpoint_.clear();
    std::thread killer([this] { cluster_->Kill("ps", 1); });
    const absl::Status status = saver_->Save(session, checkpoint, lease);
    killer.join();
    return status;
  }
  absl::StatusOr<std::vector<std::string>> SavedAs(const std::string& checkpoint) override {
    return saver_->SavedAs(checkpoint);
  }
  absl::Status Restore(Session& session, const std::string& checkpoint) override {
    return saver_->Restore(session, checkpoint);
  }

 private:
  const std::shared_ptr<TrainingState> saver_;
  ProcessCluster* const cluster_;
  std::string checkpoint_;  // empty when it is done
};

TEST(EmbeddingClusterTest, NoPushIsLostOrMadeTwiceWhenServersAreKilled) {
  const ScratchDirectory directory;
  ASSERT_OK_AND_ASSIGN(
      std::unique_ptr<ProcessCluster> cluster,
      ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"ps", 2}, {"worker", 1}}, .restart = true}));
  const Scope scope = Scope::NewRoot();
  const ResourceVariable global_step = GlobalStep(scope.WithDevice("/job:ps/task:0"));
  EmbeddingVariableOptions embedding{.width = 3, .devices = {"/job:ps/task:0", "/job:ps/task:1"}};
  embedding.optimizer = {.kind = EmbeddingOptimizer::Kind::kGradientDescent, .learning_rate = 1};
  embedding.initializer = "constant";
  embedding.initializer_params = {0};
  const EmbeddingVariable counters = EmbeddingVariable::Make(scope.WithName("counters"), embedding);
  const Scope worker = scope.WithDevice("/job:worker/task:0");
  const Output keys = ops::Placeholder(worker, DT_INT64);
  const EmbeddingPull pull = counters.Pull(worker, keys);
  const Output rows = counters.Embed(worker, pull);
  const Output loss = ops::Neg(worker, ops::Sum(worker, rows, Tensor::Vector<int32_t>({0, 1})));
  const std::vector<Gradient> gradients = Gradients(worker, {loss}, {pull.unique});
  ASSERT_THAT(scope.status(), IsOk());
  const Operation push = counters.Push(worker, pull, gradients[0], global_step.value());

  auto killer = std::make_shared<Killer>(cluster.get(), std::map<int64_t, int>{{13, 0}, {26, 1}, {33, 1}});
  TrainingLoopOptions options;
  options.global_step = global_step;
  options.train = global_step.AssignAdd(
      scope.ColocateWith(global_step.handle().op()).WithControlDependencies(std::vector<Operation>{push}), int64_t{1});
  options.feeds = [&](int64_t step) -> absl::StatusOr<FeedList> {
    return FeedList{{keys, Tensor::Vector<int64_t>(KeysOf(step))}};
  };
  options.hooks = {StopAtStepHook(kSteps), killer};
  options.checkpoint_dir = directory.path();
  auto saver = std::make_shared<EmbeddingSaver>(scope, std::vector<EmbeddingVariable>{counters},
                                                EmbeddingSaverOptions{.full_every = 4});
  options.states = {std::make_shared<KillDuringSave>(saver, cluster.get(), directory.Path("model.ckpt-20"))};
  options.checkpoint_steps = 5;
  TrainingLoop loop(scope, options);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Session> session, Session::Connect(cluster->Target("worker", 0), scope));
  ASSERT_OK_AND_ASSIGN(int64_t reached, loop.Run(*session));
  EXPECT_EQ(reached, kSteps);
  EXPECT_EQ(killer->restores, 4);

  std::vector<int64_t> all(kKeys);
  std::vector<float> expected(kKeys);
  for (int64_t key = 0; key < kKeys; ++key) all[key] = key;
  for (int64_t step = 0; step < kSteps; ++step) {
    for (int64_t key : KeysOf(step)) ++expected[key];
  }
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, session->Run({{keys, Tensor::Vector<int64_t>(all)}}, {rows}));
  for (int64_t key = 0; key < kKeys; ++key) EXPECT_EQ(out[0].flat<float>()[3 * key], expected[key]) << key;
  EXPECT_THAT(session->Close(), IsOk());
}

// Pulls run ahead of the steps while parameter servers are killed: the loop recovers, and every batch counts once.
TEST(EmbeddingClusterTest, PullsThatFailAheadOfTheStepsAreRecoveredFrom) {
  const ScratchDirectory directory;
  ASSERT_OK_AND_ASSIGN(
      std::unique_ptr<ProcessCluster> cluster,
      ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"ps", 2}, {"worker", 1}}, .restart = true}));
  const Scope scope = Scope::NewRoot();
  const ResourceVariable global_step = GlobalStep(scope.WithDevice("/job:ps/task:0"));
  EmbeddingVariableOptions embedding{.width = 3, .devices = {"/job:ps/task:0", "/job:ps/task:1"}};
  embedding.optimizer = {.kind = EmbeddingOptimizer::Kind::kGradientDescent, .learning_rate = 1};
  embedding.initializer = "constant";
  embedding.initializer_params = {0};
  const EmbeddingVariable counters = EmbeddingVariable::Make(scope.WithName("ahead"), embedding);
  const Scope worker = scope.WithDevice("/job:worker/task:0");
  const Output keys = ops::Placeholder(worker, DT_INT64);
  EmbeddingPrefetch prefetch(worker, {counters.Pull(worker, keys)}, {}, 3);
  const EmbeddingPull& pull = prefetch.pulls()[0];
  const Output loss = ops::Neg(worker, ops::Sum(worker, counters.Embed(worker, pull), Tensor::Vector<int32_t>({0, 1})));
  const std::vector<Gradient> gradients = Gradients(worker, {loss}, {pull.unique});
  const Output rows = counters.Embed(worker, counters.Pull(worker, keys));
  ASSERT_THAT(scope.status(), IsOk());
  const Operation push = counters.Push(worker, pull, gradients[0], global_step.value());
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Session> session, Session::Connect(cluster->Target("worker", 0), scope));

  auto killer = std::make_shared<Killer>(cluster.get(), std::map<int64_t, int>{{8, 1}, {16, 0}});
  TrainingLoopOptions options;
  options.global_step = global_step;
  options.train = global_step.AssignAdd(
      scope.ColocateWith(global_step.handle().op()).WithControlDependencies(std::vector<Operation>{push}), int64_t{1});
  options.feeds = prefetch.FollowSteps(*session, [&](int64_t step) -> absl::StatusOr<FeedList> {
    return FeedList{{keys, Tensor::Vector<int64_t>(KeysOf(step))}};
  });
  options.hooks = {StopAtStepHook(24), killer};
  options.checkpoint_dir = directory.path();
  options.states = {
      std::make_shared<EmbeddingSaver>(scope, std::vector<EmbeddingVariable>{counters}, EmbeddingSaverOptions{})};
  options.checkpoint_steps = 5;
  TrainingLoop loop(scope, options);
  ASSERT_OK_AND_ASSIGN(int64_t reached, loop.Run(*session));
  EXPECT_EQ(reached, 24);
  EXPECT_EQ(killer->restores, 2);
  EXPECT_THAT(prefetch.Stop(), IsOk());
  std::vector<int64_t> all(kKeys);
  std::vector<float> expected(kKeys);
  for (int64_t key = 0; key < kKeys; ++key) all[key] = key;
  for (int64_t step = 0; step < 24; ++step) {
    for (int64_t key : KeysOf(step)) ++expected[key];
  }
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> out, session->Run({{keys, Tensor::Vector<int64_t>(all)}}, {rows}));
  for (int64_t key = 0; key < kKeys; ++key) EXPECT_EQ(out[0].flat<float>()[3 * key], expected[key]) << key;
  EXPECT_THAT(session->Close(), IsOk());
}

}  // namespace
}  // namespace weir
