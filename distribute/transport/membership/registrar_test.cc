// A registrar and its members in one process.
#include "distribute/transport/membership/registrar.h"

#include <map>
#include <memory>
#include <string>

#include "core/clock.h"
#include "core/testing.h"
#include "distribute/transport/fake_worker_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr char kChief[] = "/job:chief/replica:0/task:0", kPs[] = "/job:ps/replica:0/task:0";

// A task that has a view of its own, and can be cut off.
class FakeMember : public FakeWorker {
 public:
  FakeMember(const std::string& task, const ClusterSpec& cluster) : membership(task, cluster) {}

  void GetCapabilitiesAsync(const CallOptions&, const GetCapabilitiesRequest* request,
                            GetCapabilitiesResponse* response, DoneCallback done) override {
    ++asked;
    if (is_cut_off) return done(errors::Unavailable("cut off"));
    const absl::Status adopted = membership.Adopt(request->view()).status();
    *response->mutable_view() = view_to_claim.has_value() ? *view_to_claim : membership.Get()->view;
    done(adopted);
  }

  ClusterMembership membership;
  std::atomic<bool> is_cut_off{false};
  std::atomic<int> asked{0};
  std::optional<ClusterView> view_to_claim;
};

class Pool : public WorkerPool {
 public:
  std::vector<std::string> Tasks() const override { return {}; }
  absl::StatusOr<std::shared_ptr<WorkerInterface>> Get(absl::string_view task) override {
    const auto found = members.find(std::string(task));
    if (found == members.end()) return errors::NotFound("no such task");
    return found->second;
  }
  std::map<std::string, std::shared_ptr<FakeMember>> members;
};

class RegistrarTest : public testing::Test {
 protected:
  static ClusterSpec Cluster() { return *ClusterSpec::FromJson(R"({"chief": ["h:1"], "ps": ["h:2"]})"); }
  RegistrarTest() { pool_.members[kPs] = std::make_shared<FakeMember>(kPs, Cluster()); }

  Registrar::Options Options(ClusterMembership* membership, uint64_t incarnation = 5) {
    return {.membership = membership,
            .workers = &pool_,
            .table = {.registrar_incarnation = incarnation},
            .interval = absl::Milliseconds(5),
            .settle_timeout = absl::Hours(1),
            .retry = absl::Milliseconds(5)};
  }
  static JoinRequest Request(bool serves) {
    JoinRequest request;
    request.set_job("worker");
    request.set_address("h:9");
    request.set_incarnation(90);
    request.set_serves(serves);
    return request;
  }
  // Until the registrar has heard the others.
  static absl::Status JoinWhenSettled(Registrar& registrar, const JoinRequest& request, JoinResponse* response) {
    absl::Status joined;
    const absl::Time deadline = MonotonicNow() + absl::Seconds(60);
    do {
      joined = registrar.Join(request, response);
    } while (absl::IsUnavailable(joined) && MonotonicNow() < deadline);
    return joined;
  }
  FakeMember& ps() { return *pool_.members[kPs]; }

  Pool pool_;
  ClusterMembership membership_{kChief, Cluster()};
};

TEST_F(RegistrarTest, AChangeIsAnsweredWhenTheOthersKnowIt) {
  Registrar registrar(Options(&membership_));
  JoinResponse response;
  ASSERT_THAT(JoinWhenSettled(registrar, Request(false), &response), IsOk());
  EXPECT_EQ(response.member().index(), 0);
  ASSERT_THAT(registrar.Join(Request(true), &response), IsOk());
  EXPECT_TRUE(ps().membership.Get()->cluster.AddressOf("worker", 0).ok());
  EXPECT_TRUE(membership_.Get()->cluster.AddressOf("worker", 0).ok());
  LeaveResponse left;
  LeaveRequest leave;
  leave.set_task("/job:worker/replica:0/task:0");
  ASSERT_THAT(registrar.Leave(leave, &left), IsOk());
  EXPECT_FALSE(ps().membership.Get()->cluster.AddressOf("worker", 0).ok());
  EXPECT_EQ(left.view().epoch(), 3);
}

TEST_F(RegistrarTest, ARegistrarThatHasNotHeardTheOthersChangesNothing) {
  ps().is_cut_off = true;
  Registrar registrar(Options(&membership_));
  JoinResponse response;
  EXPECT_THAT(registrar.Join(Request(false), &response),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("has just started")));
  DrainRequest drain;
  drain.set_task(kPs);
  DrainResponse drained;
  EXPECT_THAT(registrar.Drain(drain, &drained), StatusIs(absl::StatusCode::kUnavailable));
  ps().is_cut_off = false;
  EXPECT_THAT(JoinWhenSettled(registrar, Request(false), &response), IsOk());
}

TEST_F(RegistrarTest, ATaskThatIsDeadForLongDoesNotKeepOthersOut) {
  ps().is_cut_off = true;
  Registrar::Options options = Options(&membership_);
  options.settle_timeout = absl::Milliseconds(20);
  Registrar registrar(options);
  JoinResponse response;
  EXPECT_THAT(JoinWhenSettled(registrar, Request(false), &response), IsOk());
}

TEST_F(RegistrarTest, ARestartedRegistrarGoesOnFromTheOthersView) {
  JoinResponse response;
  {
    Registrar first(Options(&membership_));
    ASSERT_THAT(JoinWhenSettled(first, Request(false), &response), IsOk());
    ASSERT_THAT(first.Join(Request(true), &response), IsOk());
  }
  ClusterMembership fresh(kChief, Cluster());
  Registrar second(Options(&fresh, 6));
  JoinRequest another = Request(false);
  another.set_address("h:10");
  another.set_incarnation(91);
  ASSERT_THAT(JoinWhenSettled(second, another, &response), IsOk());
  EXPECT_EQ(response.member().index(), 1);
  EXPECT_EQ(response.view().epoch(), 3);
  EXPECT_NE(FindMember(response.view(), "/job:worker/replica:0/task:0"), nullptr);
}

TEST_F(RegistrarTest, AMemberThatReturnsWithItsOldViewIsTold) {
  Registrar registrar(Options(&membership_));
  JoinResponse response;
  ASSERT_THAT(JoinWhenSettled(registrar, Request(false), &response), IsOk());
  ps().is_cut_off = true;
  ASSERT_THAT(registrar.Join(Request(true), &response), IsOk());
  EXPECT_FALSE(ps().membership.Get()->cluster.AddressOf("worker", 0).ok());
  ps().is_cut_off = false;
  const absl::Time deadline = MonotonicNow() + absl::Seconds(60);
  while (!ps().membership.Get()->cluster.AddressOf("worker", 0).ok() && MonotonicNow() < deadline) {
  }
  EXPECT_TRUE(ps().membership.Get()->cluster.AddressOf("worker", 0).ok());
}

TEST_F(RegistrarTest, ABadViewOfAMemberIsNotTakenOver) {
  ClusterView bad = ViewOf(Cluster());
  bad.set_epoch(100);
  bad.mutable_member(1)->set_address("h:1");
  ps().view_to_claim = bad;
  Registrar registrar(Options(&membership_));
  JoinResponse response;
  ASSERT_THAT(JoinWhenSettled(registrar, Request(false), &response), IsOk());
  EXPECT_EQ(response.view().epoch(), 1);
}

TEST_F(RegistrarTest, NothingIsAskedWhileNothingHasChanged) {
  Registrar registrar(Options(&membership_));
  DrainRequest unknown;
  unknown.set_task("/job:none/replica:0/task:0");
  DrainResponse response;
  absl::Status status;
  const absl::Time deadline = MonotonicNow() + absl::Seconds(60);
  do {
    status = registrar.Drain(unknown, &response);
  } while (absl::IsUnavailable(status) && MonotonicNow() < deadline);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(ps().asked, 1);
}

TEST_F(RegistrarTest, ARegistrarThatKnowsNobodyWaitsForTasksThatItHasForgotten) {
  const ClusterSpec alone = *ClusterSpec::FromJson(R"({"chief": ["h:1"]})");
  MemberTable earlier({.registrar_incarnation = 1}, ViewOf(alone), MonotonicNow());
  ASSERT_THAT(earlier.Join(Request(true), MonotonicNow()).status(), IsOk());
  const auto forgotten = std::make_shared<FakeMember>("/job:worker/replica:0/task:0", alone);
  ASSERT_THAT(forgotten->membership.Adopt(earlier.view()).status(), IsOk());
  pool_.members["/job:worker/replica:0/task:0"] = forgotten;

  ClusterMembership fresh(kChief, alone);
  Registrar registrar(Options(&fresh));
  JoinRequest another = Request(false);
  another.set_address("h:10");
  another.set_incarnation(91);
  JoinResponse response;
  EXPECT_THAT(registrar.Join(another, &response), StatusIs(absl::StatusCode::kUnavailable));
  registrar.Hear(forgotten->membership.Get()->view);
  ASSERT_THAT(JoinWhenSettled(registrar, another, &response), IsOk());
  EXPECT_EQ(response.member().index(), 1);
}

TEST_F(RegistrarTest, AStoppedRegistrarSaysSo) {
  Registrar registrar(Options(&membership_));
  registrar.Stop();
  JoinResponse response;
  EXPECT_THAT(registrar.Join(Request(false), &response),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("stopping")));
}

}  // namespace
}  // namespace weir
