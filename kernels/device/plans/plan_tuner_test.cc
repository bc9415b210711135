#include "kernels/device/plans/plan_tuner.h"

#include "core/testing.h"

namespace weir {
namespace {

// Calls one after the other, each of which is measured before the next.
std::vector<int> RunCalls(PlanTuner* tuner, const std::vector<double>& microseconds, int calls) {
  std::vector<int> ran;
  for (int i = 0; i < calls; ++i) {
    const auto turn = tuner->Next(/*can_measure=*/true);
    if (!turn.has_value()) break;
    ran.push_back(turn->candidate);
    if (turn->is_measured) tuner->Report(turn->candidate, absl::Microseconds(microseconds[turn->candidate]));
  }
  return ran;
}

TEST(PlanTunerTest, EveryCandidateHasItsTurnsAndTheFastestStays) {
  PlanTuner tuner(3, true);
  EXPECT_THAT(RunCalls(&tuner, {12, 10, 11}, 14), testing::ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 1, 1));
  EXPECT_EQ(tuner.Chosen(), 1);
  EXPECT_EQ(tuner.BestTime(1), absl::Microseconds(10));
}

TEST(PlanTunerTest, TheFirstTurnIsNotMeasured) {
  PlanTuner tuner(2, true);
  EXPECT_FALSE(tuner.Next(true)->is_measured);
  EXPECT_TRUE(tuner.Next(true)->is_measured);
}

TEST(PlanTunerTest, SlowCandidatesAreGivenUp) {
  PlanTuner tuner(3, true);
  EXPECT_THAT(RunCalls(&tuner, {10, 50, 11}, 12), testing::ElementsAre(0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 0));
  EXPECT_EQ(tuner.Chosen(), 0);
}

TEST(PlanTunerTest, NobodyWaitsForResults) {
  PlanTuner tuner(2, true);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(tuner.Next(true).has_value());
  EXPECT_EQ(tuner.Next(true)->candidate, 0);  // nothing is known yet
  EXPECT_EQ(tuner.Chosen(), std::nullopt);
  for (int i = 0; i < 3; ++i) tuner.Report(1, absl::Microseconds(5));
  EXPECT_EQ(tuner.Next(true)->candidate, 1);
  EXPECT_EQ(tuner.Chosen(), std::nullopt);
  for (int i = 0; i < 3; ++i) tuner.Report(0, absl::Microseconds(4));
  EXPECT_EQ(tuner.Chosen(), 0);
}

TEST(PlanTunerTest, CallsThatCannotBeMeasuredTakeTheBestKnown) {
  PlanTuner tuner(2, true);
  EXPECT_EQ(tuner.Next(false)->candidate, 0);
  RunCalls(&tuner, {10, 4}, 6);
  const auto turn = tuner.Next(false);
  EXPECT_EQ(turn->candidate, 1);
  EXPECT_FALSE(turn->is_measured);
}

TEST(PlanTunerTest, WhatFailsIsDropped) {
  PlanTuner tuner(3, true);
  EXPECT_EQ(tuner.Next(true)->candidate, 0);
  tuner.Drop(0);
  RunCalls(&tuner, {0, 9, 5}, 8);
  EXPECT_EQ(tuner.Chosen(), 2);
  tuner.Drop(2);
  EXPECT_EQ(tuner.Chosen(), 1);
  tuner.Drop(1);
  EXPECT_EQ(tuner.Next(true), std::nullopt);
  EXPECT_EQ(tuner.Chosen(), std::nullopt);
}

TEST(PlanTunerTest, AMeasurementThatFailsCountsForNothing) {
  PlanTuner tuner(2, true);
  for (int i = 0; i < 8; ++i) tuner.Next(true);
  for (int i = 0; i < 3; ++i) tuner.Report(0, std::nullopt);
  for (int i = 0; i < 3; ++i) tuner.Report(1, absl::Microseconds(5));
  EXPECT_EQ(tuner.Chosen(), 1);
}

TEST(PlanTunerTest, OneThatIsAloneIsMeasuredToo) {
  PlanTuner tuner(1, true);
  EXPECT_EQ(tuner.Chosen(), std::nullopt);
  EXPECT_THAT(RunCalls(&tuner, {7}, 5), testing::Each(0));
  EXPECT_EQ(tuner.Chosen(), 0);
  EXPECT_EQ(tuner.BestTime(0), absl::Microseconds(7));
}

TEST(PlanTunerTest, NoMeasurementsAreNoQuestion) {
  PlanTuner first(3, false);
  EXPECT_EQ(first.Chosen(), 0);
  EXPECT_EQ(first.Next(true)->candidate, 0);
  first.Drop(0);
  EXPECT_EQ(first.Chosen(), 1);
}

}  // namespace
}  // namespace weir
