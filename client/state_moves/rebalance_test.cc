#include "client/state_moves/rebalance.h"

#include <algorithm>
#include <map>

#include "client/state_moves/load_watch.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string Ps(int index) { return absl::StrCat("/job:ps/replica:0/task:", index); }

StateUse Use(const std::string& name, int64_t elements = 100, int task = 0) {
  StateUse use;
  use.mutable_state()->set_device(Ps(task) + "/device:CPU:0");
  use.mutable_state()->set_container("localhost");
  use.mutable_state()->set_name(name);
  use.set_op("VarHandleOp");
  use.set_dtype(DT_FLOAT);
  use.mutable_shape()->add_dim()->set_size(elements);
  return use;
}
StateGroup Group(const std::vector<StateUse>& uses, int64_t steps = 0) {
  StateGroup group;
  for (const StateUse& use : uses) *group.add_use() = use;
  group.set_steps(steps);
  return group;
}
ListStateResponse Answer(const std::vector<StateGroup>& groups) {
  ListStateResponse answer;
  for (const StateGroup& group : groups) *answer.add_group() = group;
  return answer;
}

TEST(JoinGroupsTest, GroupsThatShareAVariableMoveTogether) {
  StateGroup stuck = Group({Use("slot"), Use("w")}, 3);
  stuck.set_obstacle("a queue");
  stuck.add_device_filter("/job:ps");
  const std::vector<VariableGroup> groups =
      JoinGroups({Answer({Group({Use("v"), Use("slot")}, 2), Group({Use("x")}, 5)}), Answer({stuck})}, MovedState());
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_THAT(groups[0].variables, SizeIs(3));
  EXPECT_EQ(groups[0].steps, 5);
  EXPECT_EQ(groups[0].bytes, 1200);
  EXPECT_EQ(groups[0].obstacle, "a queue");
  EXPECT_EQ(groups[0].task, Ps(0));
  EXPECT_TRUE(groups[0].IsReachedOn(Ps(7)));
  EXPECT_FALSE(groups[0].IsReachedOn("/job:worker/replica:0/task:0"));
  EXPECT_EQ(groups[1].variables[0].state().name(), "x");
}

TEST(JoinGroupsTest, TheHomeOfOneIsThatOfAll) {
  ClusterView view;
  StateHome* const home = view.add_home();
  *home->mutable_state() = Use("v").state();
  home->set_task(Ps(2));
  home->set_epoch(1);
  const auto groups = JoinGroups({Answer({Group({Use("a"), Use("v")}), Group({Use("z")})})}, MovedState(view));
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_EQ(groups[0].task, Ps(2));
  EXPECT_EQ(groups[1].task, Ps(0));
}

class BalanceTest : public testing::Test {
 protected:
  void Add(int64_t elements, int task, int64_t steps = 1) {
    state_.groups.push_back({.variables = {Use(absl::StrCat("v", state_.groups.size()), elements)},
                             .task = Ps(task),
                             .bytes = elements * 4,
                             .steps = steps});
  }
  // The sums of each task after the moves.
  std::map<std::string, int64_t> Balance(BalanceMeasure measure, const std::vector<std::string>& tasks) {
    moves_ = BalanceBy(measure)(state_, tasks);
    for (const PlannedMove& move : moves_) state_.groups[move.group].task = move.task;
    std::map<std::string, int64_t> sums;
    for (const VariableGroup& group : state_.groups) {
      sums[group.task] += measure == BalanceMeasure::kBytes ? group.bytes : group.steps * group.bytes;
    }
    return sums;
  }

  ClusterState state_;
  std::vector<PlannedMove> moves_;
};

TEST_F(BalanceTest, ANewTaskGetsItsShareAndNothingElseMoves) {
  for (int i = 0; i < 12; ++i) Add(100, i % 2);
  const auto sums = Balance(BalanceMeasure::kBytes, {Ps(0), Ps(1), Ps(2)});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(sums.at(Ps(i)), 4 * 400);
  EXPECT_THAT(moves_, SizeIs(4));
  EXPECT_THAT(moves_, Each(Field(&PlannedMove::task, Ps(2))));
  Balance(BalanceMeasure::kBytes, {Ps(0), Ps(1), Ps(2)});
  EXPECT_THAT(moves_, IsEmpty());
}

TEST_F(BalanceTest, ATaskThatIsNotToHaveVariablesGivesThemAway) {
  for (int i = 0; i < 9; ++i) Add(100 + i, i % 3);
  const auto sums = Balance(BalanceMeasure::kBytes, {Ps(0), Ps(2)});
  EXPECT_EQ(sums.size(), 2);
}

TEST_F(BalanceTest, WhatCannotMoveStaysAndCounts) {
  Add(300, 0);
  state_.groups[0].obstacle = "a queue";
  for (int i = 0; i < 3; ++i) Add(100, 0);
  state_.groups[1].device_filters = {{"/job:ps/task:0"}};
  const auto sums = Balance(BalanceMeasure::kBytes, {Ps(0), Ps(1)});
  EXPECT_EQ(state_.groups[0].task, Ps(0));
  EXPECT_EQ(state_.groups[1].task, Ps(0));
  EXPECT_EQ(sums.at(Ps(1)), 800);
}

TEST_F(BalanceTest, TrafficCountsWhatStepsUse) {
  Add(100, 0, 8);
  for (int i = 0; i < 3; ++i) Add(100, 0, 1);
  const auto sums = Balance(BalanceMeasure::kTraffic, {Ps(0), Ps(1)});
  EXPECT_EQ(std::max(sums.at(Ps(0)), sums.at(Ps(1))), 8 * 400);
  EXPECT_EQ(std::min(sums.at(Ps(0)), sums.at(Ps(1))), 3 * 400);
}

TEST_F(BalanceTest, OneLargeVariableIsNotMovedBackAndForth) {
  Add(1000, 0);
  Balance(BalanceMeasure::kBytes, {Ps(0), Ps(1)});
  EXPECT_THAT(moves_, IsEmpty());
}

class LoadWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    // Three hot variables and one cold one on the first server, one cold one on the second.
    for (int i = 0; i < 5; ++i) {
      state_.groups.push_back({.variables = {Use(absl::StrCat("v", i), 1000)},
                               .task = Ps(i < 4 ? 0 : 1),
                               .bytes = 4'000,
                               .steps = i < 3 ? 10'000 : 100});
    }
  }
  // Makes the moves, and returns how many there are.
  size_t Next() {
    const std::vector<PlannedMove> moves = watch_.Next(state_, {Ps(0), Ps(1)});
    for (const PlannedMove& move : moves) state_.groups[move.group].task = move.task;
    return moves.size();
  }

  ClusterState state_;
  LoadWatch watch_{{.window = absl::Seconds(1), .windows = 2, .rest = 3}};
};

TEST_F(LoadWatchTest, MovesWhatIsHotOnceTheLoadStaysUneven) {
  EXPECT_EQ(Next(), 0);
  EXPECT_EQ(Next(), 1);
  EXPECT_EQ(state_.groups[3].task, Ps(0));
  for (int window = 0; window < 10; ++window) EXPECT_EQ(Next(), 0);  // three do not fit better
}

TEST_F(LoadWatchTest, AShortPeakMovesNothing) {
  for (int window = 0; window < 10; ++window) {
    for (int i = 0; i < 3; ++i) state_.groups[i].steps = window % 2 == 0 ? 10'000 : 100;
    state_.groups[4].steps = 300;
    EXPECT_EQ(Next(), 0);
  }
}

TEST_F(LoadWatchTest, AnIdleClusterStaysAsItIs) {
  for (VariableGroup& group : state_.groups) group.steps /= 1000;
  for (int window = 0; window < 10; ++window) EXPECT_EQ(Next(), 0);
}

TEST_F(LoadWatchTest, OneHotVariableGetsAServerForItself) {
  for (int i = 1; i < 3; ++i) state_.groups[i].steps = 2'000;
  Next();
  EXPECT_EQ(Next(), 1);
  EXPECT_EQ(state_.groups[0].task, Ps(1));
  for (int window = 0; window < 10; ++window) EXPECT_EQ(Next(), 0);
}

TEST_F(LoadWatchTest, WhatHasMovedStaysForAWhile) {
  Next();
  ASSERT_EQ(Next(), 1);
  size_t moved = 0;
  while (state_.groups[moved].task != Ps(1)) ++moved;
  // The variable that has moved is the only one that is used, with one that cannot move.
  for (size_t i = 0; i < state_.groups.size(); ++i) state_.groups[i].steps = i == moved ? 10'000 : 0;
  state_.groups[4].steps = 10'000;
  state_.groups[4].obstacle = "a queue";
  for (int window = 0; window < 3; ++window) EXPECT_EQ(Next(), 0);
  EXPECT_EQ(Next(), 1);
  EXPECT_EQ(state_.groups[moved].task, Ps(0));
}

TEST_F(LoadWatchTest, ASmallGainMovesNothing) {
  // Of 10 units one could move, to leave 9.5 to 1.5.
  state_.groups.resize(2);
  state_.groups[0].steps = 9'500;
  state_.groups[1].steps = 500;
  for (int window = 0; window < 10; ++window) EXPECT_EQ(Next(), 0);
}

}  // namespace
}  // namespace weir
