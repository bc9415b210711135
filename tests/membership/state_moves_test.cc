// Variables that move between real processes while sessions train them.
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/ops.h"
#include "client/session.h"
#include "client/state_moves/rebalance.h"
#include "core/clock.h"
#include "core/files/scratch_directory_testing.h"
#include "core/logging.h"
#include "core/testing.h"
#include "distribute/cluster/joined_server.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/membership/cluster_view.h"
#include "distribute/transport/membership/membership_client.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tests/command_line/weir_output.h"
#include "tests/membership/trainer_testing.h"

namespace weir {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;

class StateMovesTest : public testing::Test {
 protected:
  void Start(std::vector<std::string> flags = {}) {
    ASSERT_OK_AND_ASSIGN(cluster_, ProcessCluster::Start({.program = WEIR_PROGRAM,
                                                          .jobs = {{"chief", 1}, {"ps", 2}, {"worker", 1}},
                                                          .flags = std::move(flags)}));
  }
  std::unique_ptr<JoinedServer> JoinPs(std::vector<std::string> flags = {"--no-rebalance"}) {
    auto joined = JoinedServer::Start({.program = WEIR_PROGRAM,
                                       .job = "ps",
                                       .target = cluster_->Target("chief", 0),
                                       .flags = std::move(flags),
                                       .directory = directory_.path(),
                                       .name = absl::StrCat("joined_", ++joined_)});
    EXPECT_THAT(joined.status(), IsOk());
    return *std::move(joined);
  }
  std::string Address(const std::string& job = "chief", int index = 0) const {
    return *cluster_->spec().AddressOf(job, index);
  }
  ClusterState Look() const {
    auto state = LookAtCluster(Address());
    EXPECT_THAT(state.status(), IsOk());
    return state.value_or(ClusterState());
  }
  // Moves all variables to a task; returns the longest pause.
  absl::StatusOr<absl::Duration> MoveAll(const std::string& task, const StateMoveOptions& options = {}) {
    const ClusterState state = Look();
    absl::Duration longest;
    for (const VariableGroup& group : state.groups) {
      ASSIGN_OR_RETURN(const StateMoveReport report, MoveVariables(Address(), state.view, group, task, options));
      longest = std::max(longest, report.pause);
    }
    return longest;
  }
  // What begins a move of the first group from the first server to the second.
  MoveStateRequest MoveOfFirstGroup() const {
    MoveStateRequest begin;
    const ClusterState state = Look();
    for (const StateUse& use : state.groups.at(0).variables) {
      StateHome* const home = begin.mutable_begin()->add_home();
      *home->mutable_state() = use.state();
      home->set_task(Full("ps", 1));
      home->set_source(Full("ps", 0));
    }
    return begin;
  }
  void ExpectAllOn(const std::string& task) const {
    for (const VariableGroup& group : Look().groups) {
      EXPECT_EQ(group.task, task) << group.variables[0].state().name();
    }
  }
  // A task that was suspended rejects steps for a while.
  void ExpectSteps(Trainer& trainer, int steps) {
    const absl::Time deadline = MonotonicNow() + absl::Minutes(1);
    auto tried = trainer.Read();
    while (absl::IsUnavailable(tried.status()) && MonotonicNow() < deadline) tried = trainer.Read();
    ASSERT_OK_AND_ASSIGN(const auto read, tried);
    EXPECT_THAT(read.first, Each(static_cast<float>(steps)));
    EXPECT_EQ(read.second, steps);
  }

  ScratchDirectory directory_;
  int joined_ = 0;
  std::unique_ptr<ProcessCluster> cluster_;
};

TEST_F(StateMovesTest, StepsOfTwoMastersGoOnWhileTheirVariablesMove) {
  Start();
  const auto joined = JoinPs();
  Trainer one(cluster_->Target("chief", 0), "shared/"), other(cluster_->Target("worker", 0), "shared/");
  ASSERT_THAT(one.Initialize(), IsOk());
  {
    Training first(&one), second(&other);
    for (const int index : {1, 2, 0, 2, 1, 0, 1, 2}) {
      ASSERT_TRUE(first.Advance(5) && second.Advance(5));
      ASSERT_THAT(MoveAll(Full("ps", index)).status(), IsOk());
      ExpectAllOn(Full("ps", index));
    }
    ASSERT_TRUE(first.Advance(5) && second.Advance(5));
    first.Stop();
    second.Stop();
    EXPECT_EQ(first.failed() + second.failed(), 0);
    ExpectSteps(one, first.done() + second.done());
    ExpectSteps(other, first.done() + second.done());
  }
  // A session that begins now finds them too.
  Trainer late(cluster_->Target("ps", 1), "shared/");
  ASSERT_OK_AND_ASSIGN(const auto before, one.Read());
  ASSERT_THAT(late.Train(), IsOk());
  ExpectSteps(late, static_cast<int>(before.second) + 1);
}

TEST_F(StateMovesTest, VariablesOfOneNameOnTwoTasksStayApart) {
  Start();
  const auto set_on = [this](const char* device, float value, const Scope& scope, std::vector<Operation>* set) {
    const Output handle = ops::VarHandleOp(scope.WithDevice(device), DT_FLOAT, TensorShape(), {.shared_name = "same"});
    set->push_back(ops::AssignVariableOp(scope, handle, AsScalar(value)));
    return ops::ReadVariableOp(scope, handle, DT_FLOAT);
  };
  const Scope scope = Scope::NewRoot();
  std::vector<Operation> set;
  const Output a = set_on("/job:ps/task:0", 1, scope, &set), b = set_on("/job:ps/task:1", 2, scope, &set);
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Connect(cluster_->Target("chief", 0), scope));
  ASSERT_THAT(session->RunTargets(set), IsOk());
  ASSERT_THAT(MoveAll(Full("ps", 1)).status(), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> read, session->Run({a, b}));
  EXPECT_EQ(read[0].scalar<float>(), 1);
  EXPECT_EQ(read[1].scalar<float>(), 2);
}

TEST_F(StateMovesTest, AMoveLeavesNoCopyBehind) {
  Start();
  Trainer trainer(cluster_->Target("chief", 0), "");
  ASSERT_THAT(trainer.Initialize(), IsOk());
  ASSERT_THAT(MoveAll(Full("ps", 1)).status(), IsOk());
  EXPECT_EQ(RunWeir("status --resources " + cluster_->Target("ps", 0)).text.find("weight"), std::string::npos);
  EXPECT_THAT(RunWeir("status --resources " + cluster_->Target("ps", 1)).text, HasSubstr("weight"));
}

// Its master answers neither the question of the move nor, later, knows that it was made.
TEST_F(StateMovesTest, AMasterThatHungMeanwhileFindsTheNewHome) {
  Start();
  Trainer one(cluster_->Target("chief", 0), ""), other(cluster_->Target("worker", 0), "");
  ASSERT_THAT(one.Initialize(), IsOk());
  ASSERT_THAT(other.Train(), IsOk());
  const ClusterState before = Look();
  cluster_->Pause("worker", 0);
  for (const VariableGroup& group : before.groups) {
    ASSERT_THAT(
        MoveVariables(Address(), before.view, group, Full("ps", 1), {.hold_timeout = absl::Milliseconds(200)}).status(),
        IsOk());
  }
  cluster_->Resume("worker", 0);
  int done = 1;
  const absl::Time deadline = MonotonicNow() + absl::Minutes(1);
  while (done < 3 && MonotonicNow() < deadline) {
    const absl::Status status = other.Train();
    done += status.ok() ? 1 : 0;
    EXPECT_THAT(status.code(),
                AnyOf(absl::StatusCode::kOk, absl::StatusCode::kAborted, absl::StatusCode::kUnavailable));
  }
  ExpectSteps(one, 3);
  ExpectAllOn(Full("ps", 1));
}

TEST_F(StateMovesTest, NothingMovesWhileATaskHangs) {
  Start();
  Trainer trainer(cluster_->Target("chief", 0), "");
  ASSERT_THAT(trainer.Initialize(), IsOk());
  cluster_->Pause("worker", 0);
  EXPECT_THAT(Rebalance(Address()), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/job:worker")));
  cluster_->Resume("worker", 0);
  ExpectAllOn(Full("ps", 0));
}

TEST_F(StateMovesTest, StepsWaitForAMoveThatIsGivenUpAndGoOn) {
  Start();
  Trainer trainer(cluster_->Target("chief", 0), "");
  ASSERT_THAT(trainer.Initialize(), IsOk());
  const MoveStateRequest begin = MoveOfFirstGroup();
  MembershipClient client(Address());
  ASSERT_OK_AND_ASSIGN(const ClusterView moving, client.MoveState(Soon(), begin));
  EXPECT_THAT(client.MoveState(Soon(), begin).status(), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_THAT(client.HoldState(Soon(), moving, /*fence=*/false), IsOk());
  ASSERT_THAT(MembershipClient(Address("ps", 0)).HoldState(Soon(), moving, /*fence=*/true), IsOk());
  // Nobody finishes it: the registrar gives it up.
  ASSERT_THAT(trainer.Train(), IsOk());
  ExpectSteps(trainer, 1);
  ExpectAllOn(Full("ps", 0));
  MoveStateRequest finish;
  finish.set_finish(moving.move().epoch());
  EXPECT_THAT(client.MoveState(Soon(), finish).status(), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(StateMovesTest, VariablesOfALostTaskAreNotInitialisedAtTheirFirstOne) {
  Start({"--member-lease", "2s"});
  auto joined = JoinPs();
  Trainer trainer(cluster_->Target("chief", 0), "");
  ASSERT_THAT(trainer.Initialize(), IsOk());
  ASSERT_THAT(MoveAll(Full("ps", 2)).status(), IsOk());
  ASSERT_THAT(trainer.Train(), IsOk());
  joined.reset();
  const absl::Time deadline = MonotonicNow() + absl::Minutes(1);
  absl::Status status = trainer.Train();
  while (!absl::IsFailedPrecondition(status) && MonotonicNow() < deadline) {
    EXPECT_THAT(status.code(), AnyOf(absl::StatusCode::kUnavailable, absl::StatusCode::kAborted,
                                     absl::StatusCode::kNotFound, absl::StatusCode::kFailedPrecondition))
        << status.ToString();
    status = trainer.Train();
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_THAT(trainer.Initialize(), IsOk());
  ASSERT_THAT(trainer.Train(), IsOk());
  ExpectSteps(trainer, 1);
}

TEST_F(StateMovesTest, CommandsShareAndHandOver) {
  Start();
  std::vector<std::unique_ptr<Trainer>> trainers;
  for (int i = 0; i < 6; ++i) {
    trainers.push_back(std::make_unique<Trainer>(cluster_->Target("chief", 0), absl::StrCat("t", i, "/")));
    ASSERT_THAT(trainers.back()->Initialize(), IsOk());
  }
  const auto joined = JoinPs();
  const std::string target = cluster_->Target("worker", 0);
  const WeirOutput planned = RunWeir("rebalance --dry-run " + target);
  EXPECT_EQ(planned.code, 0) << planned.text;
  EXPECT_THAT(planned.text, HasSubstr("-> /job:ps/replica:0/task:2"));
  ExpectAllOn(Full("ps", 0));
  const WeirOutput shared = RunWeir("rebalance " + target);
  EXPECT_EQ(shared.code, 0) << shared.text;
  std::map<std::string, int64_t> bytes;
  for (const VariableGroup& group : Look().groups) bytes[group.task] += group.bytes;
  ASSERT_EQ(bytes.size(), 3);
  for (const auto& [task, sum] : bytes) EXPECT_GE(sum, kWidth * 4 * 2 * 2) << task;
  const WeirOutput drained = RunWeir("drain " + target + " /job:ps/task:0");
  EXPECT_EQ(drained.code, 0) << drained.text;
  for (const VariableGroup& group : Look().groups) EXPECT_NE(group.task, Full("ps", 0));
  for (const auto& trainer : trainers) {
    ASSERT_THAT(trainer->Train(), IsOk());
    ExpectSteps(*trainer, 1);
  }
}

TEST_F(StateMovesTest, AServerThatJoinsTakesItsShareAndHandsItOver) {
  Start();
  std::vector<std::unique_ptr<Trainer>> trainers;
  for (int i = 0; i < 4; ++i) {
    trainers.push_back(std::make_unique<Trainer>(cluster_->Target("chief", 0), absl::StrCat("t", i, "/")));
    ASSERT_THAT(trainers.back()->Initialize(), IsOk());
  }
  Training training(trainers[0].get());
  auto joined = JoinPs({});
  const auto has_share = [&] {
    const ClusterState state = Look();
    return std::any_of(state.groups.begin(), state.groups.end(),
                       [](const VariableGroup& group) { return group.task == Full("ps", 2); });
  };
  const absl::Time deadline = MonotonicNow() + absl::Minutes(1);
  while (!has_share() && MonotonicNow() < deadline) std::this_thread::yield();
  EXPECT_TRUE(has_share());
  ASSERT_TRUE(training.Advance(5));
  ASSERT_OK_AND_ASSIGN(const int code, joined->process().Terminate(absl::Minutes(1)));
  EXPECT_EQ(code, 0) << joined->process().Log();
  EXPECT_FALSE(has_share());
  ASSERT_TRUE(training.Advance(5));
  training.Stop();
  EXPECT_EQ(training.failed(), 0);
  ExpectSteps(*trainers[0], training.done());
}

TEST_F(StateMovesTest, TheRegistrarTakesHotVariablesOffALoadedServer) {
  Start({"--rebalance-every", "0.3"});
  std::vector<std::unique_ptr<Trainer>> trainers;
  std::vector<std::unique_ptr<Training>> trainings;
  for (int i = 0; i < 4; ++i) {
    trainers.push_back(std::make_unique<Trainer>(cluster_->Target("chief", 0), absl::StrCat("t", i, "/")));
    ASSERT_THAT(trainers.back()->Initialize(), IsOk());
    trainings.push_back(std::make_unique<Training>(trainers.back().get()));
  }
  const auto on_other = [this] {
    const ClusterState state = Look();
    return std::count_if(state.groups.begin(), state.groups.end(),
                         [](const VariableGroup& group) { return group.task == Full("ps", 1); });
  };
  const absl::Time deadline = MonotonicNow() + absl::Minutes(1);
  while (on_other() == 0 && MonotonicNow() < deadline) absl::SleepFor(absl::Milliseconds(100));
  EXPECT_GT(on_other(), 0);
  for (size_t i = 0; i < trainers.size(); ++i) {
    EXPECT_TRUE(trainings[i]->Advance(20));
    trainings[i]->Stop();
    EXPECT_EQ(trainings[i]->failed(), 0);
    ExpectSteps(*trainers[i], trainings[i]->done());
  }
}

// One of the cluster's first servers goes, although graphs name it.
TEST_F(StateMovesTest, AServerOfTheDefinitionGoesAndAnotherTakesOver) {
  Start();
  Trainer trainer(cluster_->Target("chief", 0), "");
  ASSERT_THAT(trainer.Initialize(), IsOk());
  Training training(&trainer);
  ASSERT_TRUE(training.Advance(5));
  const WeirOutput removed = RunWeir("drain --remove " + cluster_->Target("chief", 0) + " /job:ps/task:0");
  EXPECT_EQ(removed.code, 0) << removed.text;
  EXPECT_THAT(removed.text, HasSubstr("/job:ps/replica:0/task:0 has been replaced by /job:ps/replica:0/task:1"));
  EXPECT_THAT(cluster_->Terminate("ps", 0).status(), IsOk());
  ASSERT_TRUE(training.Advance(5));
  training.Stop();
  EXPECT_EQ(training.failed(), 0);
  ExpectSteps(trainer, training.done());
  // Graphs that come later may name it too, for new variables as well.
  Trainer late(cluster_->Target("worker", 0), "late/");
  ASSERT_THAT(late.Initialize(), IsOk());
  ASSERT_THAT(late.Train(), IsOk());
  ExpectSteps(late, 1);
}

// Each has its own idea of where the variables are.
TEST_F(StateMovesTest, OfTwoMoversOneIsRight) {
  Start();
  const auto joined = JoinPs();
  Trainer trainer(cluster_->Target("chief", 0), "");
  ASSERT_THAT(trainer.Initialize(), IsOk());
  Training training(&trainer);
  ASSERT_TRUE(training.Advance(5));
  const ClusterState before = Look();
  for (const VariableGroup& group : before.groups) {
    ASSERT_THAT(MoveVariables(Address(), before.view, group, Full("ps", 1)).status(), IsOk());
    EXPECT_FALSE(MoveVariables(Address(), before.view, group, Full("ps", 2)).ok());
  }
  ASSERT_TRUE(training.Advance(5));
  training.Stop();
  EXPECT_EQ(training.failed(), 0);
  ExpectSteps(trainer, training.done());
  ExpectAllOn(Full("ps", 1));
}

TEST_F(StateMovesTest, TwoServersJoinAndLeaveAtOnce) {
  Start();
  std::vector<std::unique_ptr<Trainer>> trainers;
  std::vector<std::unique_ptr<Training>> trainings;
  for (int i = 0; i < 4; ++i) {
    trainers.push_back(std::make_unique<Trainer>(cluster_->Target("chief", 0), absl::StrCat("t", i, "/")));
    ASSERT_THAT(trainers.back()->Initialize(), IsOk());
    trainings.push_back(std::make_unique<Training>(trainers.back().get()));
  }
  std::vector<std::unique_ptr<JoinedServer>> joined(2);
  {
    std::thread other([&] { joined[0] = JoinPs({}); });
    joined[1] = JoinPs({});
    other.join();
  }
  for (const auto& training : trainings) EXPECT_TRUE(training->Advance(20));
  {
    std::thread other([&] { EXPECT_THAT(joined[0]->process().Terminate(absl::Minutes(2)).status(), IsOk()); });
    EXPECT_THAT(joined[1]->process().Terminate(absl::Minutes(2)).status(), IsOk());
    other.join();
  }
  for (size_t i = 0; i < trainers.size(); ++i) {
    EXPECT_TRUE(trainings[i]->Advance(5));
    trainings[i]->Stop();
    EXPECT_EQ(trainings[i]->failed(), 0);
    ExpectSteps(*trainers[i], trainings[i]->done());
  }
}

// Its sessions have ended, so only the server itself knows its variables.
TEST_F(StateMovesTest, AServerHandsOverVariablesThatNoSessionUses) {
  Start();
  {
    Trainer trainer(cluster_->Target("chief", 0), "");
    ASSERT_THAT(trainer.Initialize(), IsOk());
    ASSERT_THAT(trainer.Train(), IsOk());
  }
  const WeirOutput removed = RunWeir("drain --remove " + cluster_->Target("chief", 0) + " /job:ps/task:0");
  ASSERT_EQ(removed.code, 0) << removed.text;
  EXPECT_THAT(cluster_->Terminate("ps", 0).status(), IsOk());
  Trainer later(cluster_->Target("worker", 0), "");
  ASSERT_THAT(later.Train(), IsOk());
  ExpectSteps(later, 2);
  // A server that joins gets another name: the first one's stands for its successor.
  const auto joined = JoinPs();
  ASSERT_THAT(later.Train(), IsOk());
  ExpectSteps(later, 3);
  EXPECT_EQ(RunWeir("drain --undo " + cluster_->Target("chief", 0) + " /job:ps/task:0").code, 1);
}

// A move back to the first task was begun, and given up.
TEST_F(StateMovesTest, NoOldValueComesBackWithTheFirstTask) {
  Start({"--member-lease", "2s"});
  auto joined = JoinPs();
  Trainer trainer(cluster_->Target("chief", 0), "");
  ASSERT_THAT(trainer.Initialize(), IsOk());
  ASSERT_THAT(MoveAll(Full("ps", 2)).status(), IsOk());
  for (const VariableGroup& group : Look().groups) {
    EXPECT_FALSE(MoveVariables(Address(), Look().view, group, Full("ps", 0), {.max_pause = absl::ZeroDuration()}).ok());
  }
  ASSERT_THAT(trainer.Train(), IsOk());
  joined.reset();
  const absl::Time deadline = MonotonicNow() + absl::Minutes(1);
  absl::Status status = trainer.Train();
  while (!absl::IsFailedPrecondition(status) && !status.ok() && MonotonicNow() < deadline) status = trainer.Train();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(StateMovesTest, AStepsTimeIncludesTheMove) {
  Start();
  Trainer trainer(cluster_->Target("chief", 0), "");
  ASSERT_THAT(trainer.Initialize(), IsOk());
  const MoveStateRequest begin = MoveOfFirstGroup();
  MembershipClient client(Address());
  ASSERT_OK_AND_ASSIGN(const ClusterView moving, client.MoveState(Soon(), begin));
  EXPECT_THAT(trainer.Train(absl::Milliseconds(300)), StatusIs(absl::StatusCode::kDeadlineExceeded));
  MoveStateRequest cancel;
  cancel.set_cancel(moving.move().epoch());
  EXPECT_THAT(client.MoveState(Soon(), cancel).status(), IsOk());
  EXPECT_THAT(trainer.Train(), IsOk());
}

TEST_F(StateMovesTest, MalformedCallsAreRejected) {
  Start();
  MembershipClient client(Address());
  EXPECT_THAT(client.MoveState(Soon(), {}).status(), StatusIs(absl::StatusCode::kInvalidArgument));
  MoveStateRequest begin;
  StateHome* const home = begin.mutable_begin()->add_home();
  EXPECT_THAT(client.MoveState(Soon(), begin).status(), StatusIs(absl::StatusCode::kInvalidArgument));
  home->mutable_state()->set_device("/job:ps/task:0/device:CPU:0");
  home->mutable_state()->set_container("localhost");
  home->mutable_state()->set_name("v");
  EXPECT_THAT(client.MoveState(Soon(), begin).status(), StatusIs(absl::StatusCode::kInvalidArgument)) << "not in full";
  home->mutable_state()->set_device("/job:ps/replica:0/task:0/device:CPU:0");
  EXPECT_THAT(client.MoveState(Soon(), begin).status(), StatusIs(absl::StatusCode::kAborted)) << "no source";
  home->set_source(Full("ps", 0));
  home->set_task("/job:ps/replica:0/task:9");
  EXPECT_THAT(client.MoveState(Soon(), begin).status(), StatusIs(absl::StatusCode::kFailedPrecondition));
  ClusterView view = Look().view;
  EXPECT_THAT(client.HoldState(Soon(), view, true), StatusIs(absl::StatusCode::kFailedPrecondition));
  view.set_epoch(view.epoch() + 1);
  *view.add_home() = *home;
  EXPECT_THAT(client.HoldState(Soon(), view, false), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace weir
