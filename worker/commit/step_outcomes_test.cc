#include "worker/commit/step_outcomes.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(StepOutcomes, TheFirstCallDecides) {
  StepOutcomes outcomes;
  EXPECT_TRUE(outcomes.Commit("s", 1));
  EXPECT_TRUE(outcomes.IsCommittedElseAbort("s", 1));
  EXPECT_FALSE(outcomes.IsCommittedElseAbort("s", 2));
  EXPECT_FALSE(outcomes.Commit("s", 2));
}

TEST(StepOutcomes, SessionsAreSeparate) {
  StepOutcomes outcomes;
  EXPECT_TRUE(outcomes.Commit("s", 1));
  EXPECT_FALSE(outcomes.IsCommittedElseAbort("t", 1));
}

TEST(StepOutcomes, OtherSessionsDoNotPushOutRecentSteps) {
  StepOutcomes outcomes;
  EXPECT_TRUE(outcomes.Commit("s", 1));
  for (int step = 0; step < 10000; ++step) outcomes.Commit("busy", step);
  for (int session = 0; session < 250; ++session) outcomes.Commit(absl::StrCat("t", session), 1);
  EXPECT_TRUE(outcomes.IsCommittedElseAbort("s", 1));
}

}  // namespace
}  // namespace weir
