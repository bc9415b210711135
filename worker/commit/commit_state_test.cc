#include "worker/commit/commit_state.h"

#include "gtest/gtest.h"

namespace weir {
namespace {

using Action = CommitState::Action;
using State = CommitState::State;

TEST(CommitState, ADecisionRunsTheUpdatesOnce) {
  CommitState state;
  EXPECT_EQ(state.Ready(), Action::kNone);
  EXPECT_EQ(state.Decided(), Action::kRunUpdates);
  EXPECT_EQ(state.Decided(), Action::kNone);
  EXPECT_EQ(state.Answered(true), Action::kNone);
}

TEST(CommitState, ATaskThatIsNotReadyAbortsByItself) {
  CommitState state;
  EXPECT_EQ(state.Failed(), Action::kAbort);
  EXPECT_EQ(state.Ready(), Action::kNone);
  EXPECT_EQ(state.Decided(), Action::kNone);
  EXPECT_EQ(state.state(), State::kAborted);
}

TEST(CommitState, ATaskThatIsReadyAsks) {
  for (const bool committed : {true, false}) {
    CommitState state;
    state.Ready();
    EXPECT_EQ(state.Failed(), Action::kAsk);
    EXPECT_EQ(state.Failed(), Action::kNone);  // already asking
    EXPECT_EQ(state.Answered(committed), committed ? Action::kRunUpdates : Action::kAbort);
    EXPECT_EQ(state.state(), committed ? State::kCommitted : State::kAborted);
  }
}

TEST(CommitState, ALateDecisionAnswersTheQuestion) {
  CommitState state;
  state.Ready();
  state.Failed();
  EXPECT_EQ(state.Decided(), Action::kRunUpdates);
  EXPECT_EQ(state.Answered(true), Action::kNone);
}

TEST(CommitState, NothingUndoesACommit) {
  CommitState state;
  state.Ready();
  state.Decided();
  EXPECT_EQ(state.Failed(), Action::kNone);
  EXPECT_EQ(state.CoordinatorLost(), Action::kNone);
  EXPECT_EQ(state.state(), State::kCommitted);
}

TEST(CommitState, ACoordinatorThatLostItsStateAborts) {
  CommitState state;
  state.Ready();
  state.Failed();
  EXPECT_EQ(state.CoordinatorLost(), Action::kAbort);
  EXPECT_EQ(state.Decided(), Action::kNone);
}

}  // namespace
}  // namespace weir
