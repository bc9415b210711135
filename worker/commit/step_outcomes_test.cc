#include "worker/commit/step_outcomes.h"

#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

class StepOutcomesTest : public testing::Test {
 protected:
  StepOutcomesTest() {
    outcomes_.Open("s");
    outcomes_.Open("t");
  }
  bool IsCommitted(const std::string& session, int64_t step) {
    const auto committed = outcomes_.IsCommittedElseAbort(session, step);
    EXPECT_THAT(committed, IsOk());
    return committed.value_or(false);
  }

  StepOutcomes outcomes_;
};

TEST_F(StepOutcomesTest, TheFirstCallDecides) {
  EXPECT_THAT(outcomes_.Commit("s", 1), IsOk());
  EXPECT_TRUE(IsCommitted("s", 1));
  EXPECT_FALSE(IsCommitted("s", 2));
  EXPECT_THAT(outcomes_.Commit("s", 2), StatusIs(absl::StatusCode::kAborted));
}

TEST_F(StepOutcomesTest, AStepIsCommittedOnce) {
  EXPECT_THAT(outcomes_.Commit("s", 1), IsOk());
  EXPECT_THAT(outcomes_.Commit("s", 1), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_TRUE(IsCommitted("s", 1));
}

TEST_F(StepOutcomesTest, SessionsAreSeparate) {
  EXPECT_THAT(outcomes_.Commit("s", 1), IsOk());
  EXPECT_FALSE(IsCommitted("t", 1));
}

TEST_F(StepOutcomesTest, AForgottenOutcomeIsNoAbort) {
  EXPECT_THAT(outcomes_.Commit("s", 1), IsOk());
  EXPECT_FALSE(IsCommitted("s", 2));
  for (int step = 10; step < 10 + 4096; ++step) EXPECT_THAT(outcomes_.Commit("s", step), IsOk());
  const auto is_forgotten = StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no longer known"));
  for (const int64_t step : {1, 2}) {
    EXPECT_THAT(outcomes_.IsCommittedElseAbort("s", step), is_forgotten);
    EXPECT_THAT(outcomes_.Commit("s", step), is_forgotten);
    EXPECT_THAT(outcomes_.CheckNotAborted("s", step), is_forgotten);
  }
  EXPECT_TRUE(IsCommitted("s", 10));
}

// Ids of collective graphs do not follow the session's others.
TEST_F(StepOutcomesTest, StepsOfTwoSequencesAreDecided) {
  for (int64_t step = 0; step < 20000; ++step) {
    ASSERT_THAT(outcomes_.Commit("s", (int64_t{1} << 56) + 7 * step), IsOk());
    ASSERT_THAT(outcomes_.Commit("s", 3 * step), IsOk());
  }
  EXPECT_TRUE(IsCommitted("s", 3 * 19999));
  EXPECT_THAT(outcomes_.IsCommittedElseAbort("s", 0), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(StepOutcomesTest, OtherSessionsDoNotPushOutSteps) {
  EXPECT_THAT(outcomes_.Commit("s", 1), IsOk());
  for (int step = 0; step < 10000; ++step) outcomes_.Commit("t", step).IgnoreError();
  for (int session = 0; session < 1000; ++session) outcomes_.Open(absl::StrCat("t", session));
  EXPECT_TRUE(IsCommitted("s", 1));
}

TEST_F(StepOutcomesTest, AClosedSessionIsRememberedForAWhile) {
  EXPECT_THAT(outcomes_.Commit("s", 1), IsOk());
  outcomes_.Close("s");
  for (int session = 0; session < 255; ++session) {
    outcomes_.Open(absl::StrCat("u", session));
    outcomes_.Close(absl::StrCat("u", session));
  }
  EXPECT_TRUE(IsCommitted("s", 1));
  outcomes_.Close("t");
  EXPECT_THAT(outcomes_.IsCommittedElseAbort("s", 1), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(StepOutcomesTest, ASessionThatIsOpenedAgainKeepsItsOutcomes) {
  EXPECT_THAT(outcomes_.Commit("s", 1), IsOk());
  outcomes_.Close("s");
  outcomes_.Open("s");
  for (int session = 0; session < 300; ++session) {
    outcomes_.Open(absl::StrCat("u", session));
    outcomes_.Close(absl::StrCat("u", session));
  }
  EXPECT_TRUE(IsCommitted("s", 1));
}

TEST_F(StepOutcomesTest, AnUnknownSessionHasNoSteps) {
  EXPECT_THAT(outcomes_.IsCommittedElseAbort("gone", 1), StatusIs(absl::StatusCode::kNotFound, HasSubstr("gone")));
  EXPECT_THAT(outcomes_.Commit("gone", 1), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(StepOutcomesTest, AStepThatWasAbortedMayNotRun) {
  EXPECT_THAT(outcomes_.CheckNotAborted("s", 1), IsOk());
  EXPECT_THAT(outcomes_.CheckNotAborted("s", 1), IsOk());  // asking decides nothing
  EXPECT_FALSE(IsCommitted("s", 1));
  EXPECT_THAT(outcomes_.CheckNotAborted("s", 1), StatusIs(absl::StatusCode::kAborted));
}

TEST_F(StepOutcomesTest, AStepInDoubtWaitsForItsDecider) {
  EXPECT_THAT(outcomes_.Doubt("s", 1), IsOk());
  EXPECT_THAT(outcomes_.IsCommittedElseAbort("s", 1), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("in doubt")));
  EXPECT_THAT(outcomes_.Doubt("s", 1), StatusIs(absl::StatusCode::kAlreadyExists));
  outcomes_.Resolve("s", 1, true);
  EXPECT_TRUE(IsCommitted("s", 1));
  outcomes_.Resolve("s", 1, false);
  EXPECT_TRUE(IsCommitted("s", 1)) << "decided once";
  EXPECT_THAT(outcomes_.Doubt("s", 2), IsOk());
  outcomes_.Resolve("s", 2, false);
  EXPECT_FALSE(IsCommitted("s", 2));
  EXPECT_FALSE(IsCommitted("s", 3));
  EXPECT_THAT(outcomes_.Doubt("s", 3), StatusIs(absl::StatusCode::kAborted));
}

TEST(IdRangesTest, KeepsWhatWasAdded) {
  IdRanges ranges;
  const std::vector<int64_t> ids = {0, -1, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (const int64_t id : ids) ranges.Add(id);
  for (int64_t id = 1000; id < 2000; id += 2) ranges.Add(id);
  for (const int64_t id : ids) EXPECT_TRUE(ranges.Contains(id));
  for (int64_t id = 1000; id < 2000; id += 2) EXPECT_TRUE(ranges.Contains(id));
  for (const int64_t id : {2000, 999, 500}) EXPECT_FALSE(ranges.Contains(id));
}

}  // namespace
}  // namespace weir
