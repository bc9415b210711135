// Parameter servers with standbys, which take over when they are killed.
#include <csignal>
#include <memory>
#include <string>
#include <thread>

#include "client/embedding/embedding_variable.h"
#include "client/gradients.h"
#include "client/ops.h"
#include "client/state_moves/state_mover.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/membership/cluster_view.h"
#include "distribute/transport/membership/membership_client.h"
#include "tests/command_line/weir_output.h"
#include "tests/membership/trainer_testing.h"

namespace weir {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class StandbyTest : public testing::Test {
 protected:
  void Start(int servers = 2, std::vector<std::string> flags = {}) {
    ASSERT_OK_AND_ASSIGN(cluster_, ProcessCluster::Start({.program = WEIR_PROGRAM,
                                                          .jobs = {{"chief", 1}, {"ps", servers}, {"worker", 1}},
                                                          .flags = std::move(flags)}));
  }
  std::string Address() const { return *cluster_->spec().AddressOf("chief", 0); }
  ClusterView View() const {
    auto view = MembershipClient(Address()).GetView(Soon());
    EXPECT_THAT(view.status(), IsOk());
    return view.value_or(ClusterView());
  }
  // Repeated while the connections to a task that has just started are those to its predecessor.
  absl::Status Protect(int task, int standby) const {
    const absl::Time deadline = MonotonicNow() + absl::Minutes(1);
    while (true) {
      ASSIGN_OR_RETURN(const ClusterState state, LookAtCluster(Address()));
      const absl::Status status = CopyToStandby(Address(), state, Full("ps", task), Full("ps", standby)).status();
      if (!absl::IsUnavailable(status) || MonotonicNow() > deadline) return status;
    }
  }
  void ExpectSteps(Trainer& trainer, int steps) {
    ASSERT_OK_AND_ASSIGN(const auto read, trainer.Read());
    EXPECT_THAT(read.first, Each(static_cast<float>(steps)));
    EXPECT_EQ(read.second, steps);
  }

  std::unique_ptr<ProcessCluster> cluster_;
};

TEST_F(StandbyTest, TheStandbyTakesOverFromAKilledServer) {
  Start();
  Trainer trainer(cluster_->Target("chief", 0), "");
  ASSERT_THAT(trainer.Initialize(), IsOk());
  Training training(&trainer);
  ASSERT_TRUE(training.Advance(20));
  ASSERT_THAT(Protect(0, 1), IsOk());
  ASSERT_TRUE(training.Advance(20));
  cluster_->Kill("ps", 0);
  ASSERT_TRUE(training.Advance(20));
  training.Stop();
  // A step that was committed when the server was killed may have lost its results.
  ASSERT_OK_AND_ASSIGN(const auto read, trainer.Read());
  EXPECT_GE(read.second, training.done());
  EXPECT_LE(read.second, training.done() + training.failed());
  EXPECT_LE(training.failed(), 1);
  EXPECT_THAT(read.first, Each(static_cast<float>(read.second)));
}

TEST_F(StandbyTest, TrainingGoesOnWithoutALostStandby) {
  Start();
  Trainer trainer(cluster_->Target("chief", 0), "");
  ASSERT_THAT(trainer.Initialize(), IsOk());
  ASSERT_THAT(Protect(0, 1), IsOk());
  Training training(&trainer);
  ASSERT_TRUE(training.Advance(20));
  cluster_->Kill("ps", 1);
  ASSERT_TRUE(training.Advance(20));
  training.Stop();
  EXPECT_LE(training.failed(), 1);
  EXPECT_EQ(View().standby_size(), 0);
  ASSERT_OK_AND_ASSIGN(const auto read, trainer.Read());
  EXPECT_GE(read.second, training.done());
  EXPECT_THAT(read.first, Each(static_cast<float>(read.second)));
}

// It is fenced by its standby, which takes no part in its steps any more.
TEST_F(StandbyTest, AServerThatContinuesAfterAFailOverHasNoEffect) {
  Start();
  Trainer one(cluster_->Target("chief", 0), ""), other(cluster_->Target("worker", 0), "");
  ASSERT_THAT(one.Initialize(), IsOk());
  ASSERT_THAT(Protect(0, 1), IsOk());
  Training first(&one), second(&other);
  ASSERT_TRUE(first.Advance(10) && second.Advance(10));
  cluster_->Pause("ps", 0);
  ASSERT_TRUE(first.Advance(10) && second.Advance(10));
  cluster_->Resume("ps", 0);
  ASSERT_TRUE(first.Advance(10) && second.Advance(10));
  first.Stop();
  second.Stop();
  const int done = first.done() + second.done(), failed = first.failed() + second.failed();
  EXPECT_LE(failed, 2);
  ASSERT_OK_AND_ASSIGN(const auto read, one.Read());
  EXPECT_GE(read.second, done);
  EXPECT_LE(read.second, done + failed);
  EXPECT_THAT(read.first, Each(static_cast<float>(read.second)));
}

// The server that was lost comes back, stands by for its successor, and takes its place when that is lost.
TEST_F(StandbyTest, ServersTakeOverFromEachOtherInTurn) {
  Start();
  Trainer trainer(cluster_->Target("chief", 0), "");
  ASSERT_THAT(trainer.Initialize(), IsOk());
  Training training(&trainer);
  int lost = 0;
  for (int round = 0; round < 4; ++round) {
    ASSERT_THAT(Protect(lost, 1 - lost), IsOk());
    ASSERT_TRUE(training.Advance(10));
    cluster_->Kill("ps", lost);
    ASSERT_TRUE(training.Advance(10));
    ASSERT_THAT(cluster_->Restart("ps", lost), IsOk());
    ASSERT_TRUE(training.Advance(10));
    lost = 1 - lost;
  }
  training.Stop();
  EXPECT_LE(training.failed(), 4);
  ASSERT_OK_AND_ASSIGN(const auto read, trainer.Read());
  EXPECT_GE(read.second, training.done());
  EXPECT_LE(read.second, training.done() + training.failed());
  EXPECT_THAT(read.first, Each(static_cast<float>(read.second)));
}

// A server that restarts before anybody notices its death has lost what it held.
TEST_F(StandbyTest, AServerThatRestartsAtOnceIsReplacedToo) {
  Start();
  Trainer trainer(cluster_->Target("chief", 0), "");
  ASSERT_THAT(trainer.Initialize(), IsOk());
  ASSERT_THAT(trainer.Train(), IsOk());
  ASSERT_THAT(Protect(0, 1), IsOk());
  cluster_->Kill("ps", 0);
  ASSERT_THAT(cluster_->Restart("ps", 0), IsOk());
  ASSERT_THAT(trainer.Train(), IsOk());
  ExpectSteps(trainer, 2);
  ASSERT_EQ(View().successor_size(), 1);
  EXPECT_EQ(View().successor(0).successor(), Full("ps", 1));
}

TEST_F(StandbyTest, ASessionThatBeginsAfterAFailOverFindsTheVariables) {
  Start();
  Trainer trainer(cluster_->Target("chief", 0), "");
  ASSERT_THAT(trainer.Initialize(), IsOk());
  ASSERT_THAT(Protect(0, 1), IsOk());
  ASSERT_THAT(trainer.Train(), IsOk());
  cluster_->Kill("ps", 0);
  ASSERT_THAT(trainer.Train(), IsOk());
  Trainer late(cluster_->Target("worker", 0), "");
  ASSERT_THAT(late.Train(), IsOk());
  ExpectSteps(late, 3);
}

// Also while the server hangs, and nobody has noticed yet.
TEST_F(StandbyTest, StepsThatOnlyReadMayReadFromStandbys) {
  Start();
  Trainer trainer(cluster_->Target("chief", 0), ""), reader(cluster_->Target("worker", 0), "", "ReadsStandbys");
  ASSERT_THAT(trainer.Initialize(), IsOk());
  ExpectSteps(reader, 0);
  ASSERT_THAT(Protect(0, 1), IsOk());
  for (int step = 1; step <= 3; ++step) {
    ASSERT_THAT(trainer.Train(), IsOk());
    ExpectSteps(reader, step);
  }
  ASSERT_THAT(reader.Train(), IsOk());
  cluster_->Pause("ps", 0);
  ExpectSteps(reader, 4);
  EXPECT_EQ(View().successor_size(), 0);
  cluster_->Resume("ps", 0);
}

TEST_F(StandbyTest, TheRegistrarKeepsStandbysByItself) {
  Start(3, {"--standbys", "1"});
  Trainer trainer(cluster_->Target("chief", 0), "");
  ASSERT_THAT(trainer.Initialize(), IsOk());
  Training training(&trainer);
  const auto has_standbys = [this](int count) {
    const absl::Time deadline = MonotonicNow() + absl::Minutes(1);
    while (View().standby_size() != count && MonotonicNow() < deadline) std::this_thread::yield();
    return View().standby_size() == count;
  };
  ASSERT_TRUE(has_standbys(3));
  cluster_->Kill("ps", 0);
  ASSERT_TRUE(training.Advance(10));
  ASSERT_TRUE(has_standbys(2));
  cluster_->Kill("ps", 1);
  ASSERT_TRUE(training.Advance(10));
  training.Stop();
  EXPECT_LE(training.failed(), 2);
  ASSERT_OK_AND_ASSIGN(const auto read, trainer.Read());
  EXPECT_THAT(read.first, Each(static_cast<float>(read.second)));
}

TEST_F(StandbyTest, CommandsAddShowAndRemoveStandbys) {
  Start();
  const std::string target = cluster_->Target("chief", 0);
  const WeirOutput added = RunWeir("standby " + target);
  EXPECT_EQ(added.code, 0) << added.text;
  EXPECT_THAT(added.text, HasSubstr("/job:ps/replica:0/task:1 stands by for /job:ps/replica:0/task:0"));
  EXPECT_THAT(RunWeir("members " + target).text, HasSubstr("task:0 stands by for /job:ps/replica:0/task:1"));
  EXPECT_EQ(RunWeir("standby --count 2 " + target).code, 1) << "there are too few servers";
  EXPECT_EQ(RunWeir("standby --task /job:ps/task:0 " + target).code, 2);
  const WeirOutput removed = RunWeir("standby --remove --task /job:ps/task:0 " + target);
  EXPECT_EQ(removed.code, 0) << removed.text;
  EXPECT_EQ(View().standby_size(), 1);
}

// Pushes and inserts the number of each step into tables of the first server.
class TableTrainer {
 public:
  explicit TableTrainer(const std::string& target, int64_t parts) {
    const Scope ps = scope_.WithDevice(kPs0), worker = scope_.WithDevice(kWorker0);
    EmbeddingVariableOptions options{.width = 4, .devices = {kPs0}};
    options.optimizer = {.kind = EmbeddingOptimizer::Kind::kAdagrad, .learning_rate = 0.5};
    options.parts = parts;
    if (parts > 0) options.devices.push_back("/job:ps/task:2"), options.initial_devices = 1;
    rows_ = EmbeddingVariable::Make(scope_.WithName("rows"), options);
    names_ = ops::MutableHashTableV2(ps, DT_INT64, DT_INT64, {.shared_name = "names"});
    step_ = ops::Placeholder(worker, DT_INT64);
    const Output keys = ops::Reshape(worker, step_, AsTensor<int32_t>({1}));
    const EmbeddingPull pull = rows_.Pull(worker, keys);
    const Output loss = ops::Sum(worker, ops::Square(worker, ops::Sub(worker, rows_.Embed(worker, pull), 3.0f)),
                                 AsTensor<int32_t>({0, 1}));
    const std::vector<Gradient> gradients = Gradients(worker, {loss}, {pull.unique});
    train_ = {rows_.Push(worker, pull, gradients[0], step_),
              ops::LookupTableInsertV2(ps, names_, keys, ops::Mul(worker, keys, AsScalar<int64_t>(10)))};
    const Output all = ops::Range(worker, AsScalar<int64_t>(0), AsScalar<int64_t>(kSteps), AsScalar<int64_t>(1));
    read_ = {rows_.Embed(worker, rows_.Pull(worker, all)),
             ops::LookupTableFindV2(ps, names_, all, AsScalar<int64_t>(-1))};
    EXPECT_THAT(scope_.status(), IsOk());
    auto session = Session::Connect(target, scope_);
    EXPECT_THAT(session.status(), IsOk());
    if (session.ok()) session_ = *std::move(session);
  }
  absl::Status Initialize() { return session_->RunTargets({rows_.initializer()}); }
  absl::Status Train(int64_t step) {
    return session_->Run({{step_, AsScalar<int64_t>(step % kSteps)}}, {}, train_).status();
  }
  absl::StatusOr<std::vector<Tensor>> Read() { return session_->Run(read_); }

  static constexpr int64_t kSteps = 8;

 private:
  Scope scope_ = Scope::NewRoot();
  EmbeddingVariable rows_;
  Output names_, step_;
  std::vector<Operation> train_;
  std::vector<Output> read_;
  std::unique_ptr<Session> session_;
};

class StandbyTablesTest : public StandbyTest, public testing::WithParamInterface<int64_t> {};

// Kept from the beginning on, and copied with the rows that they have.
TEST_P(StandbyTablesTest, AStandbyKeepsTables) {
  std::vector<std::vector<Tensor>> results;
  for (const bool disturbed : {false, true}) {
    Start(3);
    TableTrainer trainer(cluster_->Target("chief", 0), GetParam());
    if (disturbed) {
      ASSERT_THAT(Protect(0, 1), IsOk());
    }
    ASSERT_THAT(trainer.Initialize(), IsOk());
    for (int64_t step = 0; step < 20; ++step) ASSERT_THAT(trainer.Train(step), IsOk()) << step;
    if (disturbed) {
      cluster_->Kill("ps", 0);
      ASSERT_THAT(trainer.Train(20), IsOk());
      ASSERT_THAT(cluster_->Restart("ps", 0), IsOk());
      ASSERT_THAT(Protect(1, 0), IsOk());
    } else {
      ASSERT_THAT(trainer.Train(20), IsOk());
    }
    for (int64_t step = 21; step < 40; ++step) ASSERT_THAT(trainer.Train(step), IsOk()) << step;
    if (disturbed) cluster_->Kill("ps", 1);
    for (int64_t step = 40; step < 50; ++step) ASSERT_THAT(trainer.Train(step), IsOk()) << step;
    ASSERT_OK_AND_ASSIGN(results.emplace_back(), trainer.Read());
  }
  for (int i = 0; i < 2; ++i) ExpectTensorEqual(results[1][i], results[0][i]);
}

INSTANTIATE_TEST_SUITE_P(Parts, StandbyTablesTest, testing::Values(0, 8));

}  // namespace
}  // namespace weir
