// Assumptions of these schedules, beside those that commit_world.h names:
// - Each client has a session of its own: in a shared one, the step of another client may hide a restart from it.
// - A client runs in its master's process, and returns to the same task after a crash.
// - Variables of different restores take no common step, and a step updates no variables that were restored since.
// - A task restarts or is reachable again within ten minutes.
// - A schedule ends without a verdict once a participant has reported that the outcome of its step was forgotten.
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/simulation/commit_world.h"

namespace weir {
namespace {

constexpr uint64_t kSchedules = 10000;

TEST(CommitSimulation, TenThousandSchedulesKeepTheInvariants) {
  int64_t steps = 0, forgotten = 0;
  for (uint64_t seed = 1; seed <= kSchedules; ++seed) {
    CommitWorld world(seed, PlantedBug::kNone, /*prints=*/false);
    const std::vector<Violation> violations = world.Run();
    steps += world.steps();
    forgotten += world.forgotten();
    ASSERT_TRUE(violations.empty()) << violations[0].what << "; see commit_simulation --seed " << seed;
  }
  EXPECT_GT(steps, 10 * static_cast<int64_t>(kSchedules));
  EXPECT_GT(forgotten, 0);
}

TEST(CommitSimulation, TheSameSeedGivesTheSameSchedule) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CommitWorld first(seed, PlantedBug::kNone, false), second(seed, PlantedBug::kNone, false);
    first.Run();
    second.Run();
    EXPECT_EQ(first.events(), second.events()) << seed;
  }
}

class PlantedBugTest : public testing::TestWithParam<int> {};

TEST_P(PlantedBugTest, IsFound) {
  const auto bug = static_cast<PlantedBug>(GetParam());
  for (uint64_t seed = 1; seed <= kSchedules; ++seed) {
    if (!CommitWorld(seed, bug, false).Run().empty()) return;
  }
  FAIL() << "No schedule finds " << NameOf(bug);
}

INSTANTIATE_TEST_SUITE_P(All, PlantedBugTest, testing::Range(1, static_cast<int>(PlantedBug::kCount)),
                         [](const auto& info) { return std::string(NameOf(static_cast<PlantedBug>(info.param))); });

}  // namespace
}  // namespace weir
