#include <limits>

#include "distribute/membership/cluster_membership.h"

#include "core/testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;

constexpr char kChief[] = "/job:chief/replica:0/task:0", kWorker[] = "/job:worker/replica:0/task:0";

class ClusterMembershipTest : public testing::Test {
 protected:
  static ClusterSpec Cluster() { return *ClusterSpec::FromJson(R"({"chief": ["h:1"], "worker": ["h:2"]})"); }
  static void Add(const std::string& job, int index, const std::string& address, Member::State state,
                  ClusterView* view) {
    Member* const member = view->add_member();
    member->set_job(job);
    member->set_index(index);
    member->set_address(address);
    member->set_state(state);
  }
  ClusterView Next(int64_t epoch) const {
    ClusterView view = ViewOf(Cluster());
    view.set_epoch(epoch);
    return view;
  }
  std::vector<std::string> Tasks() const { return membership_.Get()->cluster.TaskNames(); }

  ClusterMembership membership_{kWorker, Cluster()};
};

TEST_F(ClusterMembershipTest, AdoptsNewerViewsAlone) {
  EXPECT_EQ(membership_.version(), 0);
  ClusterView view = Next(3);
  Add("worker", 1, "h:3", Member::SERVING, &view);
  ASSERT_OK_AND_ASSIGN(bool adopted, membership_.Adopt(view));
  EXPECT_TRUE(adopted);
  EXPECT_EQ(membership_.version(), 1);
  EXPECT_THAT(Tasks(), ElementsAre(kChief, kWorker, "/job:worker/replica:0/task:1"));
  for (const int64_t epoch : {2, 3}) {
    ASSERT_OK_AND_ASSIGN(adopted, membership_.Adopt(Next(epoch)));
    EXPECT_FALSE(adopted);
  }
  view = Next(3);
  view.set_registrar_incarnation(1);
  ASSERT_OK_AND_ASSIGN(adopted, membership_.Adopt(view));
  EXPECT_TRUE(adopted);
  EXPECT_THAT(Tasks(), ElementsAre(kChief, kWorker));
}

TEST_F(ClusterMembershipTest, TasksThatDoNotServeYetAreNotThere) {
  ClusterView view = Next(1);
  Add("worker", 1, "h:3", Member::JOINING, &view);
  Add("worker", 2, "h:4", Member::DRAINING, &view);
  ASSERT_THAT(membership_.Adopt(view).status(), IsOk());
  EXPECT_THAT(Tasks(), ElementsAre(kChief, kWorker, "/job:worker/replica:0/task:2"));
  ClusterMembership joining("/job:worker/replica:0/task:1", Cluster());
  ASSERT_THAT(joining.Adopt(view).status(), IsOk());
  EXPECT_EQ(joining.Get()->cluster.TaskNames().size(), 4);
}

TEST_F(ClusterMembershipTest, ATaskThatWasRemovedKeepsItself) {
  ClusterView view = Next(1);
  view.mutable_member()->RemoveLast();
  ASSERT_THAT(membership_.Adopt(view).status(), IsOk());
  EXPECT_THAT(Tasks(), ElementsAre(kChief, kWorker));
  EXPECT_EQ(FindMember(membership_.Get()->view, kWorker)->state(), Member::DRAINING);
}

TEST_F(ClusterMembershipTest, TheViewOfAnotherDefinitionIsIgnored) {
  // With the same registrar, and this task at its address.
  ClusterView other = ViewOf(*ClusterSpec::FromJson(R"({"chief": ["h:1"], "worker": ["h:2", "h:7"]})"));
  other.set_epoch(5);
  ASSERT_OK_AND_ASSIGN(const bool adopted, membership_.Adopt(other));
  EXPECT_FALSE(adopted);
}

TEST_F(ClusterMembershipTest, AViewThatNoRegistrarMakesIsRejected) {
  const auto rejects = [&](const std::string& job, int index, const std::string& address) {
    ClusterView view = Next(1);
    Add(job, index, address, Member::SERVING, &view);
    EXPECT_THAT(membership_.Adopt(view).status(), StatusIs(absl::StatusCode::kInvalidArgument))
        << job << " " << index << " " << address;
  };
  rejects("worker", 0, "h:9");
  rejects("ps", 0, "h:2");
  rejects("ps", -1, "h:9");
  rejects("p s", 0, "h:9");
  rejects("ps", 0, "nowhere");
  rejects("", 0, "h:9");
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(membership_.Adopt(Next(kLast)).status(), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ClusterOf(Next(-1), "").status(), StatusIs(absl::StatusCode::kInvalidArgument));
  ClusterView headless = Next(1);
  headless.set_registrar("/job:chief/replica:0/task:9");
  EXPECT_THAT(membership_.Adopt(headless).status(), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(membership_.version(), 0);
}

}  // namespace
}  // namespace weir
