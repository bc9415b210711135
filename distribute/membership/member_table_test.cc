#include "distribute/membership/member_table.h"

#include <algorithm>

#include "core/testing.h"
#include "distribute/membership/moved_state.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

JoinRequest Request(const std::string& job, const std::string& address, uint64_t incarnation, bool serves = false) {
  JoinRequest request;
  request.set_job(job);
  request.set_address(address);
  request.set_incarnation(incarnation);
  request.set_serves(serves);
  return request;
}

JoinRequest RequestFor(int index, const std::string& job, const std::string& address, uint64_t incarnation) {
  JoinRequest request = Request(job, address, incarnation);
  request.set_index(index);
  return request;
}

// A chief, two workers and a server, and a clock that tests move.
class MemberTableTest : public testing::Test {
 protected:
  static ClusterSpec Cluster() {
    return *ClusterSpec::FromJson(R"({"chief": ["h:1"], "worker": ["h:2", "h:3"], "ps": ["h:4"]})");
  }
  // "JOB:INDEX ADDRESS STATE" of each member that joined or has another state than at the start.
  std::vector<std::string> Changed() const {
    std::vector<std::string> members;
    for (const Member& member : table_.view().member()) {
      if (member.incarnation() == 0 && member.state() == Member::SERVING) continue;
      members.push_back(absl::StrCat(member.job(), ":", member.index(), " ", member.address(), " ",
                                     Member::State_Name(member.state())));
    }
    return members;
  }
  void Pass(absl::Duration time) { now_ += time; }
  void AllAnswer() {
    for (const Member& member : table_.view().member()) table_.Answered(TaskNameOf(member), now_);
  }

  absl::Time now_ = absl::UnixEpoch();
  MemberTable table_{{.registrar_incarnation = 7}, ViewOf(Cluster()), now_};
};

TEST_F(MemberTableTest, TheChiefOrTheFirstWorkerIsTheRegistrar) {
  EXPECT_EQ(table_.view().registrar(), "/job:chief/replica:0/task:0");
  EXPECT_EQ(RegistrarOf(*ClusterSpec::FromJson(R"({"worker": {"2": "h:1", "5": "h:2"}, "ps": ["h:3"]})")),
            "/job:worker/replica:0/task:2");
  EXPECT_EQ(RegistrarOf(*ClusterSpec::FromJson(R"({"a": ["h:1"], "b": ["h:2"]})")), "/job:a/replica:0/task:0");
  EXPECT_EQ(RegistrarOf(ClusterSpec()), "");
}

TEST_F(MemberTableTest, AProcessGetsTheLowestFreeIndexAndThenServes) {
  EXPECT_EQ(table_.view().epoch(), 0);
  ASSERT_OK_AND_ASSIGN(Member member, table_.Join(Request("worker", "h:9", 90), now_));
  EXPECT_EQ(TaskNameOf(member), "/job:worker/replica:0/task:2");
  EXPECT_EQ(table_.view().epoch(), 1);
  EXPECT_EQ(table_.view().registrar_incarnation(), 7);
  EXPECT_THAT(Changed(), ElementsAre("worker:2 h:9 JOINING"));
  EXPECT_FALSE(ClusterOf(table_.view(), "")->AddressOf("worker", 2).ok());
  ASSERT_OK_AND_ASSIGN(member, table_.Join(Request("worker", "h:9", 90, true), now_));
  EXPECT_THAT(Changed(), ElementsAre("worker:2 h:9 SERVING"));
  EXPECT_EQ(*ClusterOf(table_.view(), "")->AddressOf("worker", 2), "h:9");
  EXPECT_EQ(table_.view().epoch(), 2);
}

TEST_F(MemberTableTest, ARepeatedRequestChangesNothing) {
  for (int i = 0; i < 2; ++i) ASSERT_THAT(table_.Join(Request("worker", "h:9", 90), now_).status(), IsOk());
  EXPECT_EQ(table_.view().epoch(), 1);
  for (int i = 0; i < 2; ++i) ASSERT_THAT(table_.Join(Request("worker", "h:9", 90, true), now_).status(), IsOk());
  EXPECT_EQ(table_.view().epoch(), 2);
}

TEST_F(MemberTableTest, ANewJobIsFine) {
  ASSERT_OK_AND_ASSIGN(const Member member, table_.Join(Request("evaluator", "h:9", 90), now_));
  EXPECT_EQ(TaskNameOf(member), "/job:evaluator/replica:0/task:0");
}

TEST_F(MemberTableTest, ATaskThatAnswersKeepsItsPlace) {
  Pass(absl::Seconds(2));
  EXPECT_THAT(
      table_.Join(RequestFor(1, "worker", "h:9", 90), now_).status(),
      StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("/job:worker/replica:0/task:1 at h:3 has answered 2s")));
  EXPECT_THAT(table_.Join(Request("worker", "h:4", 90), now_).status(), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_EQ(table_.view().epoch(), 0);
}

TEST_F(MemberTableTest, ASilentTaskIsReplacedUnderAnotherAddress) {
  Pass(absl::Seconds(3));
  ASSERT_THAT(table_.Join(RequestFor(1, "worker", "h:9", 90), now_).status(), IsOk());
  EXPECT_THAT(Changed(), ElementsAre("worker:1 h:9 JOINING"));
  EXPECT_EQ(table_.view().member_size(), 4);
}

TEST_F(MemberTableTest, ASilentTaskGivesItsAddressToAnother) {
  Pass(absl::Seconds(3));
  ASSERT_OK_AND_ASSIGN(const Member member, table_.Join(Request("worker", "h:4", 90), now_));
  EXPECT_EQ(member.index(), 2);
  EXPECT_EQ(FindMember(table_.view(), "/job:ps/replica:0/task:0"), nullptr);
}

TEST_F(MemberTableTest, ARestartedProcessTakesItsOwnPlaceAgain) {
  ASSERT_THAT(table_.Join(Request("worker", "h:9", 90), now_).status(), IsOk());
  Pass(absl::Seconds(4));
  ASSERT_OK_AND_ASSIGN(const Member member, table_.Join(Request("worker", "h:9", 91), now_));
  EXPECT_EQ(member.index(), 2);
  EXPECT_EQ(member.incarnation(), 91);
}

TEST_F(MemberTableTest, NobodyTakesTheRegistrarsPlace) {
  Pass(absl::Hours(1));
  EXPECT_THAT(table_.Join(RequestFor(0, "chief", "h:9", 90), now_).status(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("registrar")));
  LeaveRequest leave;
  leave.set_task("/job:chief/replica:0/task:0");
  EXPECT_THAT(table_.Leave(leave), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(MemberTableTest, MalformedRequestsChangeNothing) {
  for (const JoinRequest& bad :
       {Request("", "h:9", 1), Request("a b", "h:9", 1), Request("worker", "", 1), Request("worker", "h", 1),
        Request("worker", "h:0", 1), Request("worker", "h:99999", 1), RequestFor(-3, "worker", "h:9", 1),
        Request("worker", "h:9", 0), Request("worker", "0.0.0.0:9", 1), Request("worker", "[::]:9", 1),
        Request("worker", "unix:/a\nb", 1), Request(std::string(256, 'w'), "h:9", 1),
        Request("worker", std::string(256, 'h') + ":9", 1)}) {
    EXPECT_THAT(table_.Join(bad, now_).status(), StatusIs(absl::StatusCode::kInvalidArgument))
        << bad.ShortDebugString();
  }
  EXPECT_EQ(table_.view().epoch(), 0);
}

TEST_F(MemberTableTest, MembersThatJoinedAreRemovedWhenTheyAreSilentAndOthersAreNot) {
  ASSERT_THAT(table_.Join(Request("worker", "h:9", 90, true), now_).status(), IsOk());
  Pass(absl::Seconds(29));
  EXPECT_THAT(table_.RemoveLost(now_), IsEmpty());
  Pass(absl::Seconds(1));
  EXPECT_THAT(table_.RemoveLost(now_), ElementsAre("/job:worker/replica:0/task:2"));
  EXPECT_THAT(Changed(), IsEmpty());
  EXPECT_EQ(table_.view().member_size(), 4);
  EXPECT_EQ(table_.view().epoch(), 2);
}

TEST_F(MemberTableTest, AProcessThatNeverServesIsRemoved) {
  ASSERT_THAT(table_.Join(Request("worker", "h:9", 90), now_).status(), IsOk());
  Pass(absl::Seconds(30));
  AllAnswer();
  Pass(absl::Seconds(30));
  EXPECT_THAT(table_.RemoveLost(now_), ElementsAre("/job:worker/replica:0/task:2"));
}

TEST_F(MemberTableTest, ATaskDrainsAndComesBack) {
  DrainRequest drain;
  drain.set_task("/job:worker/replica:0/task:1");
  ASSERT_THAT(table_.Drain(drain), IsOk());
  EXPECT_THAT(Changed(), ElementsAre("worker:1 h:3 DRAINING"));
  ASSERT_THAT(table_.Drain(drain), IsOk());
  EXPECT_EQ(table_.view().epoch(), 1);
  drain.set_undo(true);
  ASSERT_THAT(table_.Drain(drain), IsOk());
  EXPECT_THAT(Changed(), IsEmpty());
  drain.set_task("/job:worker/replica:0/task:8");
  EXPECT_THAT(table_.Drain(drain), StatusIs(absl::StatusCode::kNotFound, HasSubstr("/job:worker/replica:0/task:1")));
}

TEST_F(MemberTableTest, AProcessThatWasReplacedDoesNotRemoveItsSuccessor) {
  ASSERT_THAT(table_.Join(Request("worker", "h:9", 90), now_).status(), IsOk());
  LeaveRequest leave;
  leave.set_task("/job:worker/replica:0/task:2");
  leave.set_incarnation(89);
  ASSERT_THAT(table_.Leave(leave), IsOk());
  EXPECT_EQ(table_.view().member_size(), 5);
  leave.set_incarnation(90);
  ASSERT_THAT(table_.Leave(leave), IsOk());
  EXPECT_EQ(table_.view().member_size(), 4);
  ASSERT_THAT(table_.Leave(leave), IsOk());
}

TEST_F(MemberTableTest, ARestartedRegistrarGoesOnFromWhatOthersKnow) {
  ASSERT_THAT(table_.Join(Request("worker", "h:9", 90, true), now_).status(), IsOk());
  MemberTable restarted({.registrar_incarnation = 8}, ViewOf(Cluster()), now_);
  restarted.Reconcile(table_.view(), now_);
  EXPECT_EQ(restarted.view().epoch(), 1);
  EXPECT_EQ(restarted.view().member_size(), 5);
  ASSERT_THAT(restarted.Join(Request("worker", "h:10", 91), now_).status(), IsOk());
  EXPECT_TRUE(IsNewerView(restarted.view(), table_.view()));
}

TEST_F(MemberTableTest, AProcessThatWasRemovedByRequestDoesNotComeBack) {
  ASSERT_THAT(table_.Join(Request("worker", "h:9", 90, true), now_).status(), IsOk());
  LeaveRequest leave;
  leave.set_task("/job:worker/replica:0/task:2");
  ASSERT_THAT(table_.Leave(leave), IsOk());
  EXPECT_TRUE(WasRemoved(table_.view(), 90));
  EXPECT_THAT(table_.Join(Request("worker", "h:9", 90, true), now_).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("was removed")));
  MemberTable restarted({.registrar_incarnation = 8}, ViewOf(Cluster()), now_);
  restarted.Reconcile(table_.view(), now_);
  EXPECT_THAT(restarted.Join(Request("worker", "h:9", 90, true), now_).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(table_.Join(Request("worker", "h:9", 91, true), now_).status(), IsOk());
}

TEST_F(MemberTableTest, AProcessThatStartsSlowlyKeepsItsPlace) {
  ASSERT_THAT(table_.Join(RequestFor(7, "worker", "h:9", 90), now_).status(), IsOk());
  Pass(absl::Seconds(29));
  EXPECT_THAT(table_.Join(RequestFor(7, "worker", "h:10", 91), now_).status(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("about to become")));
}

TEST_F(MemberTableTest, TheViewOfAnotherClusterIsIgnored) {
  ClusterView other = ViewOf(*ClusterSpec::FromJson(R"({"worker": ["x:1"]})"));
  other.set_epoch(100);
  table_.Reconcile(other, now_);
  EXPECT_EQ(table_.view().epoch(), 0);
}

// A variable of the first server.
StateHome HomeOn(const std::string& task, const std::string& name = "v",
                 const std::string& source = "/job:ps/replica:0/task:0") {
  StateHome home;
  home.mutable_state()->set_device("/job:ps/replica:0/task:0/device:CPU:0");
  home.mutable_state()->set_container("localhost");
  home.mutable_state()->set_name(name);
  home.set_task(task);
  home.set_source(source);
  return home;
}
MoveStateRequest Begin(const std::vector<StateHome>& homes) {
  MoveStateRequest request;
  for (const StateHome& home : homes) *request.mutable_begin()->add_home() = home;
  return request;
}
MoveStateRequest Finish(int64_t epoch) {
  MoveStateRequest request;
  request.set_finish(epoch);
  return request;
}

TEST_F(MemberTableTest, AMoveGivesVariablesAHome) {
  const std::string target = "/job:worker/replica:0/task:1";
  ASSERT_THAT(table_.MoveState(Begin({HomeOn(target)}), now_), IsOk());
  const int64_t epoch = table_.view().move().epoch();
  EXPECT_EQ(epoch, table_.view().epoch());
  EXPECT_THAT(table_.MoveState(Begin({HomeOn(target, "w")}), now_), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(table_.MoveState(Finish(epoch + 1), now_), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_THAT(table_.MoveState(Finish(epoch), now_), IsOk());
  const MovedState moved(table_.view());
  EXPECT_EQ(moved.HomeOf(ToStateKey(HomeOn("").state())), target);
  EXPECT_EQ(moved.EpochOf(ToStateKey(HomeOn("").state())), epoch + 1);
  EXPECT_EQ(moved.move_epoch(), 0);
  // A repeated call.
  const int64_t after = table_.view().epoch();
  EXPECT_THAT(table_.MoveState(Finish(epoch), now_), IsOk());
  EXPECT_EQ(table_.view().epoch(), after);
  // Another mover that took the variable to be where it was.
  EXPECT_THAT(table_.MoveState(Begin({HomeOn("/job:worker/replica:0/task:0")}), now_),
              StatusIs(absl::StatusCode::kAborted, HasSubstr(target)));
}

TEST_F(MemberTableTest, MovesThatMakeNoSenseAreRefused) {
  const std::string target = "/job:worker/replica:0/task:1";
  EXPECT_THAT(table_.MoveState(MoveStateRequest(), now_), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(table_.MoveState(Begin({}), now_), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(table_.MoveState(Begin({HomeOn("/job:worker/task:9")}), now_),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(table_.MoveState(Begin({HomeOn(target), HomeOn(target)}), now_),
              StatusIs(absl::StatusCode::kInvalidArgument));
  StateHome nowhere = HomeOn(target);
  nowhere.mutable_state()->set_device("ps");
  EXPECT_THAT(table_.MoveState(Begin({nowhere}), now_), StatusIs(absl::StatusCode::kInvalidArgument));
  DrainRequest drain;
  drain.set_task(target);
  ASSERT_THAT(table_.Drain(drain), IsOk());
  EXPECT_THAT(table_.MoveState(Begin({HomeOn(target)}), now_), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_FALSE(table_.view().has_move());
}

TEST_F(MemberTableTest, ALateMoveIsCancelled) {
  ASSERT_THAT(table_.MoveState(Begin({HomeOn("/job:worker/replica:0/task:1")}), now_), IsOk());
  const int64_t epoch = table_.view().move().epoch();
  EXPECT_FALSE(table_.CancelLateMove(now_ + absl::Seconds(9)));
  EXPECT_TRUE(table_.CancelLateMove(now_ + absl::Seconds(11)));
  EXPECT_EQ(table_.view().epoch(), epoch + 1);
  EXPECT_THAT(table_.MoveState(Finish(epoch), now_), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(table_.view().home_size(), 0);
}

TEST_F(MemberTableTest, WhatATaskHeldIsWhereGraphsPlaceItOnceItHasLeft) {
  const std::string first = "/job:worker/replica:0/task:1", second = "/job:worker/replica:0/task:0";
  ASSERT_THAT(table_.MoveState(Begin({HomeOn(first)}), now_), IsOk());
  ASSERT_THAT(table_.MoveState(Finish(table_.view().epoch()), now_), IsOk());
  ASSERT_THAT(table_.MoveState(Begin({HomeOn(second, "v", first)}), now_), IsOk());
  LeaveRequest leave;
  leave.set_task(first);
  ASSERT_THAT(table_.Leave(leave), IsOk());
  EXPECT_FALSE(table_.view().has_move()) << "a task that is part of the move has left";
  ASSERT_EQ(table_.view().home_size(), 1);
  EXPECT_EQ(table_.view().home(0).task(), "/job:ps/replica:0/task:0");
  EXPECT_EQ(table_.view().home(0).epoch(), table_.view().epoch());
  EXPECT_THAT(ClusterOf(table_.view(), "").status(), IsOk());
  leave.set_task("/job:ps/replica:0/task:0");
  ASSERT_THAT(table_.Leave(leave), IsOk());
  EXPECT_THAT(ClusterOf(table_.view(), "").status(), IsOk());
}

TEST_F(MemberTableTest, ATaskThatHandedOverHasASuccessor) {
  const std::string ps = "/job:ps/replica:0/task:0", first = "/job:worker/replica:0/task:0",
                    second = "/job:worker/replica:0/task:1";
  DrainRequest drain;
  drain.set_task(ps);
  drain.set_successor("/job:ps/replica:0/task:9");
  EXPECT_THAT(table_.Drain(drain), StatusIs(absl::StatusCode::kFailedPrecondition));
  drain.set_successor(first);
  ASSERT_THAT(table_.Drain(drain), IsOk());
  EXPECT_EQ(MovedState(table_.view()).SuccessorOf(ps), first);
  EXPECT_EQ(MovedState(table_.view()).epoch(), table_.view().epoch());
  LeaveRequest leave;
  leave.set_task(ps);
  ASSERT_THAT(table_.Leave(leave), IsOk());
  EXPECT_EQ(MovedState(table_.view()).SuccessorOf(ps), first);
  // The successor hands over too.
  drain.set_task(first);
  drain.set_successor(second);
  ASSERT_THAT(table_.Drain(drain), IsOk());
  EXPECT_EQ(MovedState(table_.view()).SuccessorOf(ps), second);
  EXPECT_EQ(MovedState(table_.view()).SuccessorOf(first), second);
  drain.set_undo(true);
  EXPECT_THAT(table_.Drain(drain), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("handed over")));
  // Nodes that name the task run on its successor, with variables of their own: no process takes the name.
  EXPECT_THAT(table_.Join(RequestFor(0, "ps", "h:9", 90), now_).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(second)));
  ASSERT_OK_AND_ASSIGN(const Member member, table_.Join(Request("ps", "h:9", 90), now_));
  EXPECT_EQ(member.index(), 1);
}

// Three servers, which answer with their incarnations.
class StandbyTableTest : public testing::Test {
 protected:
  StandbyTableTest() { Answer({0, 1, 2}); }

  static std::string Ps(int index) { return absl::StrCat("/job:ps/replica:0/task:", index); }
  void Answer(std::initializer_list<int> servers, uint64_t generation = 0) {
    for (const int index : servers) table_.Answered(Ps(index), now_, 100 * generation + index + 1);
  }
  // Each server answers for so long, except for those.
  void Pass(absl::Duration time, std::initializer_list<int> but) {
    now_ += time;
    for (const int index : {0, 1, 2}) {
      if (std::find(but.begin(), but.end(), index) == but.end()) Answer({index});
    }
  }
  absl::Status Add(int task, int standby) {
    MoveStateRequest request;
    request.mutable_begin()->mutable_standby()->set_task(Ps(task));
    request.mutable_begin()->mutable_standby()->set_standby(Ps(standby));
    RETURN_IF_ERROR(table_.MoveState(request, now_));
    request.set_finish(table_.view().move().epoch());
    return table_.MoveState(request, now_);
  }
  std::vector<std::string> Standbys() const {
    std::vector<std::string> standbys;
    for (const Standby& entry : table_.view().standby()) {
      standbys.push_back(absl::StrCat(entry.task().back() == '0'   ? "0"
                                      : entry.task().back() == '1' ? "1"
                                                                   : "2",
                                      "->", entry.standby().substr(entry.standby().size() - 1)));
    }
    return standbys;
  }
  std::string HomeOf(const std::string& name, int origin) const {
    return MovedState(table_.view()).HolderOf({absl::StrCat(Ps(origin), "/device:CPU:0"), "localhost", name});
  }

  absl::Time now_ = absl::UnixEpoch();
  MemberTable table_{{.registrar_incarnation = 7},
                     ViewOf(*ClusterSpec::FromJson(R"({"chief": ["h:1"], "ps": ["h:4", "h:5", "h:6"]})")),
                     now_};
};

TEST_F(StandbyTableTest, TheStandbyOfALostTaskTakesOver) {
  ASSERT_THAT(Add(0, 1), IsOk());
  EXPECT_THAT(Standbys(), ElementsAre("0->1"));
  EXPECT_EQ(table_.view().standby(0).task_incarnation(), 1);
  EXPECT_EQ(table_.view().standby(0).standby_incarnation(), 2);
  Pass(absl::Seconds(1), {0});
  EXPECT_THAT(table_.FailOverLost(now_), IsEmpty());
  Pass(absl::Seconds(1), {0});
  EXPECT_THAT(table_.FailOverLost(now_), ElementsAre(HasSubstr("has taken over")));
  EXPECT_EQ(HomeOf("v", 0), Ps(1));
  EXPECT_THAT(Standbys(), IsEmpty());
  EXPECT_EQ(table_.view().standby_epoch(), table_.view().epoch());
  EXPECT_THAT(ClusterOf(table_.view(), "").status(), IsOk());
}

TEST_F(StandbyTableTest, ATaskThatCannotBeReachedTwiceIsLost) {
  ASSERT_THAT(Add(0, 1), IsOk());
  table_.NotReached(Ps(0));
  EXPECT_THAT(table_.FailOverLost(now_), IsEmpty());
  Answer({0});
  table_.NotReached(Ps(0));
  EXPECT_THAT(table_.FailOverLost(now_), IsEmpty()) << "not in turn";
  table_.NotReached(Ps(0));
  EXPECT_EQ(table_.FailOverLost(now_).size(), 1);
}

TEST_F(StandbyTableTest, ATaskThatRestartedHasLostWhatItHeld) {
  ASSERT_THAT(Add(0, 1), IsOk());
  Answer({0}, /*generation=*/1);
  EXPECT_EQ(table_.FailOverLost(now_).size(), 1);
  EXPECT_EQ(HomeOf("v", 0), Ps(1));
  // It can stand by for its successor, and take over again.
  ASSERT_THAT(Add(1, 0), IsOk());
  table_.NotReached(Ps(1));
  table_.NotReached(Ps(1));
  EXPECT_EQ(table_.FailOverLost(now_).size(), 1);
  EXPECT_EQ(HomeOf("v", 0), Ps(0));
  EXPECT_EQ(HomeOf("w", 1), Ps(0));
  EXPECT_EQ(MovedState(table_.view()).SuccessorOf(Ps(0)), "");
  EXPECT_THAT(ClusterOf(table_.view(), "").status(), IsOk());
}

TEST_F(StandbyTableTest, ALostStandbyIsRemoved) {
  ASSERT_THAT(Add(0, 1), IsOk());
  Pass(absl::Seconds(2), {1});
  EXPECT_THAT(table_.FailOverLost(now_), ElementsAre(HasSubstr("no longer stands by")));
  EXPECT_EQ(HomeOf("v", 0), Ps(0));
  EXPECT_THAT(Standbys(), IsEmpty());
}

TEST_F(StandbyTableTest, WithoutAnAnswerOfEitherNothingChangesUntilTheStandbyIsGone) {
  ASSERT_THAT(Add(0, 1), IsOk());
  Pass(absl::Seconds(5), {0, 1});
  EXPECT_THAT(table_.FailOverLost(now_), IsEmpty()) << "both may only be cut off";
  Answer({1});
  EXPECT_EQ(table_.FailOverLost(now_).size(), 1);
  EXPECT_EQ(HomeOf("v", 0), Ps(1));
}

TEST_F(StandbyTableTest, ATaskAndItsStandbyThatBothRestartedStandAlone) {
  ASSERT_THAT(Add(0, 1), IsOk());
  Answer({0, 1}, /*generation=*/1);
  EXPECT_EQ(table_.FailOverLost(now_).size(), 1);
  EXPECT_THAT(Standbys(), IsEmpty());
  EXPECT_EQ(HomeOf("v", 0), Ps(0));
}

// The standby of a task that has taken over has no copy of what that got.
TEST_F(StandbyTableTest, AfterAFailureOnlyStandbysWithAllStateRemain) {
  ASSERT_THAT(Add(0, 1), IsOk());
  ASSERT_THAT(Add(1, 2), IsOk());
  ASSERT_THAT(Add(2, 0), IsOk());
  table_.NotReached(Ps(0));
  table_.NotReached(Ps(0));
  table_.FailOverLost(now_);
  EXPECT_THAT(Standbys(), IsEmpty());
  ASSERT_THAT(Add(1, 2), IsOk());
  ASSERT_THAT(Add(2, 1), IsOk());
  table_.NotReached(Ps(1));
  table_.NotReached(Ps(1));
  table_.FailOverLost(now_);
  EXPECT_EQ(HomeOf("v", 0), Ps(2));
  EXPECT_EQ(HomeOf("v", 1), Ps(2));
}

TEST_F(StandbyTableTest, TheSecondStandbyTakesOverIfTheFirstIsLostToo) {
  ASSERT_THAT(Add(0, 1), IsOk());
  ASSERT_THAT(Add(0, 2), IsOk());
  Pass(absl::Seconds(2), {0, 1});
  table_.FailOverLost(now_);
  EXPECT_EQ(HomeOf("v", 0), Ps(2));
}

TEST_F(StandbyTableTest, AMoveToATaskEndsWhatStandsByForIt) {
  ASSERT_THAT(Add(1, 2), IsOk());
  ASSERT_THAT(Add(0, 2), IsOk());
  MoveStateRequest request;
  StateHome* const home = request.mutable_begin()->add_home();
  home->mutable_state()->set_device(absl::StrCat(Ps(0), "/device:CPU:0"));
  home->mutable_state()->set_container("localhost");
  home->mutable_state()->set_name("v");
  home->set_task(Ps(1));
  home->set_source(Ps(0));
  ASSERT_THAT(table_.MoveState(request, now_), IsOk());
  request.set_finish(table_.view().move().epoch());
  ASSERT_THAT(table_.MoveState(request, now_), IsOk());
  EXPECT_THAT(Standbys(), ElementsAre("0->2"));
}

TEST_F(StandbyTableTest, WrongStandbysAreRejected) {
  EXPECT_THAT(Add(0, 0), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Add(0, 7), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_THAT(Add(0, 1), IsOk());
  EXPECT_THAT(Add(0, 1), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("already")));
  MoveStateRequest request;
  request.mutable_remove()->set_task(Ps(0));
  request.mutable_remove()->set_standby(Ps(1));
  for (int i = 0; i < 2; ++i) EXPECT_THAT(table_.MoveState(request, now_), IsOk());
  EXPECT_THAT(Standbys(), IsEmpty());
}

}  // namespace
}  // namespace weir
