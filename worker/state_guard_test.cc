#include "worker/state_guard.h"

#include "core/clock.h"
#include "core/op/attr_value.h"
#include "core/testing.h"
#include "graph/graph_import.h"
#include "graph/passes/standby_updates.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "worker/executor/executor_testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

constexpr char kFirstPs[] = "/job:ps/replica:0/task:0", kSecondPs[] = "/job:ps/replica:0/task:1";

class StateGuardTest : public testing::Test {
 protected:
  StateGuardTest() {
    view_.set_registrar_incarnation(1);
    StateMove* const move = view_.mutable_move();
    move->set_epoch(1);
    *move->add_home() = Home(kSecondPs, 1);
  }
  static StateHome Home(const std::string& task, int64_t epoch) {
    StateHome home;
    home.mutable_state()->set_device(absl::StrCat(kFirstPs, "/device:CPU:0"));
    home.mutable_state()->set_container("localhost");
    home.mutable_state()->set_name("v");
    home.set_task(task);
    home.set_epoch(epoch);
    return home;
  }
  // The uses of a graph with one variable.
  std::shared_ptr<StateUses> Uses(const std::string& name, StateGuard& guard, const std::string& container = "",
                                  const std::string& task = kFirstPs) {
    tensorflow::GraphDef def;
    tensorflow::NodeDef* const node_def = def.add_node();
    node_def->set_name(name);
    node_def->set_op("VariableV2");
    (*node_def->mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
    (*node_def->mutable_attr())["shape"].mutable_shape();
    (*node_def->mutable_attr())["container"].set_s(container);
    Graph graph(&ExecutorTestOps());
    EXPECT_THAT(ImportGraphDef(ImportOptions(), def, &graph), IsOk());
    for (Node* node : graph.nodes()) node->set_assigned_device(absl::StrCat(task, "/device:CPU:0"));
    auto uses = std::make_shared<StateUses>();
    uses->Add(graph);
    guard.Add(uses);
    return uses;
  }
  void Adopt(int64_t epoch) {
    view_.set_epoch(epoch);
    for (ClusterMembership* task : {&ps0_, &ps1_}) EXPECT_THAT(task->Adopt(view_).status(), IsOk());
  }
  static absl::Time Soon() { return MonotonicNow() + absl::Milliseconds(20); }

  const ClusterSpec cluster_ = *ClusterSpec::FromJson(R"({"chief": ["h:1"], "ps": ["h:4", "h:5"]})");
  ClusterView view_ = ViewOf(cluster_);
  ClusterMembership ps0_{kFirstPs, cluster_}, ps1_{kSecondPs, cluster_};
};

TEST_F(StateGuardTest, AFenceWaitsForStepsAndKeepsOthersOut) {
  StateGuard guard(kFirstPs, /*incarnation=*/1, &ps0_);
  const auto uses = Uses("v", guard), others = Uses("w", guard);
  EXPECT_THAT(guard.Fence(Soon()), StatusIs(absl::StatusCode::kFailedPrecondition)) << "nothing moves";
  ASSERT_OK_AND_ASSIGN(auto step, guard.Enter(uses));
  Adopt(1);
  ASSERT_THAT(guard.Enter(uses).status(), IsOk()) << "it is not fenced yet";
  EXPECT_THAT(guard.Fence(Soon()), StatusIs(absl::StatusCode::kAborted, HasSubstr("'v'")));
  EXPECT_THAT(guard.Enter(uses).status(), StatusIs(absl::StatusCode::kAborted, HasSubstr("being moved")));
  EXPECT_THAT(guard.Enter(others).status(), IsOk());
  step = nullptr;
  EXPECT_THAT(guard.Fence(Soon()), IsOk());
  // The move is given up.
  view_.clear_move();
  Adopt(2);
  EXPECT_THAT(guard.Enter(uses).status(), IsOk());
}

TEST_F(StateGuardTest, StepsRunOnlyWhereTheVariableIs) {
  StateGuard source(kFirstPs, 1, &ps0_), target(kSecondPs, 2, &ps1_);
  const auto before = Uses("v", source), after = Uses("v", target, "localhost@ps/0/CPU/0", kSecondPs);
  EXPECT_THAT(target.Enter(after).status(), StatusIs(absl::StatusCode::kAborted));
  *view_.add_home() = Home(kSecondPs, 2);
  view_.clear_move();
  Adopt(2);
  EXPECT_THAT(source.Enter(before).status(), StatusIs(absl::StatusCode::kAborted, HasSubstr(kSecondPs)));
  EXPECT_THAT(target.Enter(after).status(), IsOk());
  EXPECT_EQ(source.MovedAway(*ps0_.Get()).size(), 1);
  EXPECT_EQ(source.MovedAway(*ps0_.Get()).size(), 0) << "said once";
  EXPECT_EQ(target.MovedAway(*ps1_.Get()).size(), 0);
}

TEST_F(StateGuardTest, CopiesOfAMoveThatIsGivenUpAreDeleted) {
  StateGuard source(kFirstPs, 1, &ps0_), target(kSecondPs, 2, &ps1_);
  Adopt(1);
  EXPECT_EQ(source.MovedAway(*ps0_.Get()).size(), 0);
  EXPECT_EQ(target.MovedAway(*ps1_.Get()).size(), 0);
  view_.clear_move();
  Adopt(2);
  EXPECT_EQ(source.MovedAway(*ps0_.Get()).size(), 0);
  EXPECT_EQ(target.MovedAway(*ps1_.Get()).size(), 1);
}

TEST_F(StateGuardTest, CopiesUseVariablesAnywhere) {
  StateGuard guard(kFirstPs, /*incarnation=*/1, &ps0_);
  auto uses = Uses("v", guard);
  uses->SetCopies();
  Adopt(1);
  EXPECT_THAT(guard.Fence(Soon()), IsOk());
  EXPECT_THAT(guard.Enter(uses).status(), IsOk());
}

class StandbyGuardTest : public StateGuardTest {
 protected:
  static constexpr uint64_t kFirst = 11, kSecond = 12;
  StandbyGuardTest() { view_.clear_move(); }

  void AddStandby(int64_t epoch) {
    Standby* const standby = view_.add_standby();
    standby->set_task(kFirstPs);
    standby->set_standby(kSecondPs);
    standby->set_task_incarnation(kFirst);
    standby->set_standby_incarnation(kSecond);
    view_.set_standby_epoch(epoch);
    Adopt(epoch);
  }
  // A graph that adds to "v" on `task`, as its own or for the first server.
  std::shared_ptr<StateUses> Update(StateGuard& guard, const std::string& task, bool as_standby,
                                    const std::vector<std::string>& standbys) {
    tensorflow::GraphDef def;
    tensorflow::NodeDef* const variable = def.add_node();
    variable->set_name("v");
    variable->set_op("VariableV2");
    (*variable->mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
    (*variable->mutable_attr())["shape"].mutable_shape();
    tensorflow::NodeDef* const update = def.add_node();
    update->set_name("u");
    update->set_op("AssignAdd");
    (*update->mutable_attr())["T"].set_type(tensorflow::DT_FLOAT);
    update->add_input("v");
    update->add_input("v");
    if (as_standby) {
      (*variable->mutable_attr())["container"].set_s("localhost@ps/0/CPU/0");
      for (tensorflow::NodeDef* node : {variable, update}) (*node->mutable_attr())[kStandbyForAttr].set_s(kFirstPs);
    }
    if (!standbys.empty()) SetNodeAttr(kStandbysAttr, standbys, update);
    Graph graph(&ExecutorTestOps());
    EXPECT_THAT(ImportGraphDef(ImportOptions(), def, &graph), IsOk());
    for (Node* node : graph.nodes()) node->set_assigned_device(absl::StrCat(task, "/device:CPU:0"));
    auto uses = std::make_shared<StateUses>();
    uses->Add(graph);
    guard.Add(uses);
    return uses;
  }
};

TEST_F(StandbyGuardTest, UpdatesMustBeMadeOnTheStandbyToo) {
  StateGuard first(kFirstPs, kFirst, &ps0_), second(kSecondPs, kSecond, &ps1_);
  const auto alone = Update(first, kFirstPs, false, {}), both = Update(first, kFirstPs, false, {kSecondPs});
  const auto copy = Update(second, kSecondPs, true, {});
  EXPECT_THAT(first.Enter(alone).status(), IsOk());
  EXPECT_THAT(second.Enter(copy).status(), StatusIs(absl::StatusCode::kAborted, HasSubstr("does not stand by")));
  AddStandby(1);
  EXPECT_THAT(first.Enter(alone).status(), StatusIs(absl::StatusCode::kAborted, HasSubstr("its standby")));
  EXPECT_THAT(first.Enter(Uses("v", first)).status(), IsOk()) << "it only reads";
  EXPECT_THAT(first.Enter(both).status(), IsOk());
  EXPECT_THAT(second.Enter(copy).status(), IsOk());
}

TEST_F(StandbyGuardTest, ATaskThatRestartedServesNothingInItsOldPlace) {
  StateGuard first(kFirstPs, kFirst + 1, &ps0_);
  const auto both = Update(first, kFirstPs, false, {kSecondPs});
  AddStandby(1);
  EXPECT_THAT(first.Enter(both).status(), StatusIs(absl::StatusCode::kAborted, HasSubstr("restarted")));
}

TEST_F(StandbyGuardTest, OnceTheStandbyHasTakenOverItIsThePlaceOfUpdates) {
  StateGuard first(kFirstPs, kFirst, &ps0_), second(kSecondPs, kSecond, &ps1_);
  const auto both = Update(first, kFirstPs, false, {kSecondPs}), copy = Update(second, kSecondPs, true, {});
  AddStandby(1);
  EXPECT_FALSE(first.HasLostStandby(kSecondPs));
  EXPECT_FALSE(second.IsReplaced(kFirstPs));
  view_.clear_standby();
  view_.set_standby_epoch(2);
  Successor* const successor = view_.add_successor();
  successor->set_task(kFirstPs);
  successor->set_successor(kSecondPs);
  successor->set_epoch(2);
  Adopt(2);
  EXPECT_THAT(first.Enter(both).status(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(second.Enter(copy).status(), StatusIs(absl::StatusCode::kAborted)) << "a late step of the lost task";
  EXPECT_THAT(second.Enter(Uses("v", second, "localhost@ps/0/CPU/0", kSecondPs)).status(), IsOk());
  EXPECT_FALSE(first.HasLostStandby(kSecondPs)) << "it has taken over";
  EXPECT_TRUE(second.IsReplaced(kFirstPs));
}

TEST_F(StandbyGuardTest, CopiesOfAFormerStandbyAreDeleted) {
  StateGuard first(kFirstPs, kFirst, &ps0_), second(kSecondPs, kSecond, &ps1_);
  const auto copy = Update(second, kSecondPs, true, {});
  AddStandby(1);
  EXPECT_EQ(second.MovedAway(*ps1_.Get()).size(), 0);
  view_.clear_standby();
  view_.set_standby_epoch(2);
  Adopt(2);
  EXPECT_EQ(second.MovedAway(*ps1_.Get()).size(), 1);
  EXPECT_TRUE(first.HasLostStandby(kSecondPs));
}

TEST_F(StandbyGuardTest, ACopyToANewStandbyHoldsUpdatesBack) {
  StateGuard first(kFirstPs, kFirst, &ps0_);
  const auto alone = Update(first, kFirstPs, false, {}), both = Update(first, kFirstPs, false, {kSecondPs});
  StateMove* const move = view_.mutable_move();
  move->set_epoch(1);
  move->mutable_standby()->set_task(kFirstPs);
  move->mutable_standby()->set_standby(kSecondPs);
  Adopt(1);
  ASSERT_OK_AND_ASSIGN(auto step, first.Enter(alone));
  EXPECT_THAT(first.Fence(Soon()), StatusIs(absl::StatusCode::kAborted, HasSubstr("'v'")));
  step = nullptr;
  EXPECT_THAT(first.Fence(Soon()), IsOk());
  EXPECT_THAT(first.Enter(alone).status(), StatusIs(absl::StatusCode::kAborted, HasSubstr("being copied")));
  EXPECT_THAT(first.Enter(both).status(), IsOk()) << "its master knows that the copy has ended";
  EXPECT_THAT(first.Enter(Uses("v", first)).status(), IsOk());
}

}  // namespace
}  // namespace weir
