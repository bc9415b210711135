#include "tools/trace/task_clocks.h"

#include <limits>

#include "gtest/gtest.h"

namespace weir {
namespace {

constexpr char kReference[] = "/job:worker/replica:0/task:0";
constexpr char kOther[] = "/job:ps/replica:0/task:0";

TEST(TaskClocksTest, TheReferenceHasNoOffset) {
  const TaskClocks clocks(kReference);
  EXPECT_TRUE(clocks.OffsetOf(kReference).is_known);
  EXPECT_EQ(clocks.OffsetOf(kReference).error_nanos, 0);
  EXPECT_EQ(clocks.ToReference(kReference, 55), 55);
}

TEST(TaskClocksTest, ATaskThatNeverAnsweredIsNotKnown) {
  const TaskClocks clocks(kReference);
  EXPECT_FALSE(clocks.OffsetOf(kOther).is_known);
  EXPECT_EQ(clocks.ToReference(kOther, 55), 55);
}

TEST(TaskClocksTest, TheShortestRoundTripCounts) {
  TaskClocks clocks(kReference);
  // The other clock is 1000 ahead; the first answer was late.
  clocks.Add(kOther, {.called = 100, .clock = 1110, .answered = 400});
  clocks.Add(kOther, {.called = 500, .clock = 1512, .answered = 520});
  clocks.Add(kOther, {.called = 600, .clock = 1790, .answered = 800});
  const ClockOffset offset = clocks.OffsetOf(kOther);
  EXPECT_EQ(offset.round_trip_nanos, 20);
  EXPECT_EQ(offset.offset_nanos, 1002);
  EXPECT_EQ(offset.error_nanos, 10);
  EXPECT_EQ(clocks.ToReference(kOther, 1602), 600);
}

TEST(TaskClocksTest, TheTrueOffsetIsWithinTheErrorWhateverTheDelays) {
  for (int64_t there = 0; there < 50; there += 7) {
    for (int64_t back = 0; back < 50; back += 7) {
      TaskClocks clocks(kReference);
      clocks.Add(kOther, {.called = 1000, .clock = 1000 + there - 300, .answered = 1000 + there + back});
      const ClockOffset offset = clocks.OffsetOf(kOther);
      EXPECT_LE(std::abs(offset.offset_nanos + 300), offset.error_nanos) << there << " " << back;
    }
  }
}

TEST(TaskClocksTest, DriftWidensTheError) {
  TaskClocks clocks(kReference);
  clocks.Add(kOther, {.called = 100, .clock = 105, .answered = 110});
  clocks.Add(kOther, {.called = 1000, .clock = 1105, .answered = 1020});  // 85 to 105 ahead by now
  const ClockOffset offset = clocks.OffsetOf(kOther);
  EXPECT_EQ(offset.offset_nanos, 0);
  EXPECT_EQ(offset.error_nanos, 5 + 85);
}

TEST(TaskClocksTest, ReadingsWithoutSenseAreIgnored) {
  TaskClocks clocks(kReference);
  clocks.Add(kOther, {.called = 10, .clock = 5, .answered = 9});
  clocks.Add(kOther, {.called = 10, .clock = std::numeric_limits<int64_t>::max(), .answered = 11});
  clocks.Add(kOther, {.called = -1, .clock = 0, .answered = 11});
  EXPECT_FALSE(clocks.OffsetOf(kOther).is_known);
  EXPECT_NE(clocks.ToReference(kOther, std::numeric_limits<int64_t>::min()), 0);
}

}  // namespace
}  // namespace weir
