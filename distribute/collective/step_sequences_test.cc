#include "distribute/collective/step_sequences.h"

#include "core/testing.h"
#include "distribute/collective/shared_step_id.h"

namespace weir {
namespace {

tensorflow::GetStepSequenceResponse AnswerOf(StepSequences& leader, int64_t graph_key = 5) {
  tensorflow::GetStepSequenceRequest request;
  tensorflow::GetStepSequenceResponse response;
  request.add_graph_key(graph_key);
  EXPECT_THAT(leader.Answer(request, &response), IsOk());
  return response;
}

TEST(StepSequencesTest, FollowersCountAsTheLeaderDoes) {
  StepSequences leader, follower;
  leader.Lead(5);
  EXPECT_EQ(follower.Take(5), std::nullopt);
  follower.Learn(AnswerOf(leader));
  for (int i = 0; i < 3; ++i) {
    const auto step_id = leader.Take(5);
    EXPECT_EQ(step_id, follower.Take(5));
    leader.End(*step_id, true);
    follower.End(*step_id, true);
  }
}

TEST(StepSequencesTest, WhoComesLateGetsTheStepThatTheLeaderIsIn) {
  StepSequences leader, late;
  leader.Lead(5);
  leader.End(*leader.Take(5), true);
  const auto running = leader.Take(5);
  late.Learn(AnswerOf(leader));
  EXPECT_EQ(late.Take(5), running);
}

TEST(StepSequencesTest, AfterAFailureTheLeaderIsAskedAgain) {
  StepSequences leader, follower;
  leader.Lead(5);
  follower.Learn(AnswerOf(leader));
  leader.End(*leader.Take(5), true);
  leader.End(*leader.Take(5), true);
  follower.End(*follower.Take(5), false);
  EXPECT_EQ(follower.Take(5), std::nullopt);
  follower.Learn(AnswerOf(leader));
  EXPECT_EQ(follower.Take(5), leader.Take(5));
}

// A step of one key fails because the leader has died. Its successor counts the steps of other keys anew, too.
TEST(StepSequencesTest, AfterAFailureTheLeaderIsAskedAboutAllKeys) {
  StepSequences leader, successor, follower;
  follower.Learn(AnswerOf(leader, 5));
  follower.Learn(AnswerOf(leader, 6));
  follower.End(*follower.Take(6), true);
  follower.End(*follower.Take(5), false);
  EXPECT_EQ(follower.Take(6), std::nullopt);
  successor.Lead(6);
  follower.Learn(AnswerOf(successor, 6));
  EXPECT_EQ(follower.Take(6), successor.Take(6));
}

TEST(StepSequencesTest, ALeaderThatRunsNoStepsDoesNotSetTheOthersBack) {
  StepSequences leader, follower;
  follower.Learn(AnswerOf(leader));
  const auto first = follower.Take(5);
  follower.End(*first, false);
  follower.Learn(AnswerOf(leader));
  EXPECT_EQ(follower.Take(5), *first + 1);
}

TEST(StepSequencesTest, AStepThatRunsIsNotHandedOutAgain) {
  StepSequences leader, follower;
  leader.Lead(5);
  follower.Learn(AnswerOf(leader));
  const auto first = leader.Take(5);
  EXPECT_EQ(follower.Take(5), first);
  EXPECT_EQ(follower.Take(5), *first + 1);
  leader.End(*first, true);
  leader.Take(5);
  follower.End(*first, false);
  follower.Learn(AnswerOf(leader));  // the leader is in the step that runs here
  EXPECT_EQ(follower.Take(5), *first + 2);
}

TEST(StepSequencesTest, WithinACountNobodyGoesBack) {
  StepSequences leader, follower;
  leader.Lead(5);
  follower.Learn(AnswerOf(leader));
  for (int i = 0; i < 5; ++i) follower.End(*follower.Take(5), i < 4);
  const auto of_leader = leader.Take(5);
  leader.End(*of_leader, true);
  follower.Learn(AnswerOf(leader));
  EXPECT_EQ(follower.Take(5), *of_leader + 5);
}

TEST(StepSequencesTest, WhoIsBehindCatchesUpWithAPeer) {
  StepSequences leader;
  leader.Lead(5);
  const auto step_id = leader.Take(5);
  leader.CatchUp(*step_id, *step_id + 7);
  EXPECT_FALSE(leader.WasOvertaken(*step_id));
  leader.End(*step_id, false);
  EXPECT_TRUE(leader.WasOvertaken(*step_id));
  const auto caught_up = leader.Take(5);
  EXPECT_EQ(caught_up, *step_id + 7);
  leader.End(*caught_up, false);
  EXPECT_FALSE(leader.WasOvertaken(*caught_up));
}

TEST(StepSequencesTest, AnotherCountIsNotCaughtUpWith) {
  StepSequences leader;
  leader.Lead(5);
  const auto step_id = leader.Take(5);
  leader.CatchUp(*step_id, SharedStepId::First(SharedStepId::CountOf(*step_id) + 1, 0));
  EXPECT_EQ(leader.Take(5), *step_id + 1);
}

TEST(StepSequencesTest, ALeaderThatComesBackBeginsAnotherCount) {
  StepSequences leader, restarted, follower;
  leader.Lead(5);
  follower.Learn(AnswerOf(leader));
  follower.End(*follower.Take(5), false);
  restarted.Lead(5);
  follower.Learn(AnswerOf(restarted));
  EXPECT_EQ(follower.Take(5), restarted.Take(5));
}

TEST(StepSequencesTest, WhatStrangersAskForChangesNothing) {
  StepSequences leader;
  const int64_t first = AnswerOf(leader).step_sequence(0).next_step_id();
  for (int64_t from = 0; from < 100000; from += 1000) {
    tensorflow::GetStepSequenceRequest request;
    tensorflow::GetStepSequenceResponse response;
    for (int64_t key = from; key < from + 1000; ++key) request.add_graph_key(key);
    ASSERT_THAT(leader.Answer(request, &response), IsOk());
    EXPECT_EQ(response.step_sequence_size(), 1000);
  }
  EXPECT_EQ(leader.Take(6), std::nullopt);
  leader.Lead(5);
  EXPECT_EQ(leader.Take(5), first);
}

TEST(StepSequencesTest, TooManyKeysAtOnceAreRejected) {
  StepSequences leader;
  tensorflow::GetStepSequenceRequest request;
  tensorflow::GetStepSequenceResponse response;
  for (int64_t key = 0; key < 5000; ++key) request.add_graph_key(key);
  EXPECT_THAT(leader.Answer(request, &response), StatusIs(absl::StatusCode::kInvalidArgument));
}

// A client uses a new key in each step.
TEST(StepSequencesTest, OldCountsAreDroppedAndBeginAfterWhatTheyGave) {
  StepSequences leader;
  leader.Lead(5);
  int64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    last = *leader.Take(5);
    leader.End(last, true);
  }
  for (int64_t key = 100; key < 5000; ++key) leader.Lead(key);
  EXPECT_EQ(leader.Take(5), std::nullopt);
  leader.Lead(5);
  EXPECT_TRUE(SharedStepId::IsLater(*leader.Take(5), last));
}

}  // namespace
}  // namespace weir
