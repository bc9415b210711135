#include "worker/state_guard.h"

#include "core/clock.h"
#include "core/testing.h"
#include "graph/graph_import.h"
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
  StateGuard guard(kFirstPs, &ps0_);
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
  StateGuard source(kFirstPs, &ps0_), target(kSecondPs, &ps1_);
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
  StateGuard source(kFirstPs, &ps0_), target(kSecondPs, &ps1_);
  Adopt(1);
  EXPECT_EQ(source.MovedAway(*ps0_.Get()).size(), 0);
  EXPECT_EQ(target.MovedAway(*ps1_.Get()).size(), 0);
  view_.clear_move();
  Adopt(2);
  EXPECT_EQ(source.MovedAway(*ps0_.Get()).size(), 0);
  EXPECT_EQ(target.MovedAway(*ps1_.Get()).size(), 1);
}

TEST_F(StateGuardTest, CopiesUseVariablesAnywhere) {
  StateGuard guard(kFirstPs, &ps0_);
  auto uses = Uses("v", guard);
  uses->SetCopies();
  Adopt(1);
  EXPECT_THAT(guard.Fence(Soon()), IsOk());
  EXPECT_THAT(guard.Enter(uses).status(), IsOk());
}

}  // namespace
}  // namespace weir
