// Parameter servers with standbys, which take over when they are killed.
#include <csignal>
#include <memory>
#include <string>

#include "client/state_moves/state_mover.h"
#include "core/files/scratch_directory_testing.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/membership/cluster_view.h"
#include "distribute/transport/membership/membership_client.h"
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
  absl::Status Protect(int task, int standby) const {
    ASSIGN_OR_RETURN(const ClusterState state, LookAtCluster(Address()));
    return CopyToStandby(Address(), state, Full("ps", task), Full("ps", standby)).status();
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

}  // namespace
}  // namespace weir
