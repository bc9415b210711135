// Parameter servers with standbys, which take over when they are killed.
#include <csignal>
#include <memory>
#include <string>
#include <thread>

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

}  // namespace
}  // namespace weir
