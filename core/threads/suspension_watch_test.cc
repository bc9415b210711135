#include "core/threads/suspension_watch.h"

#include "absl/synchronization/notification.h"
#include "core/testing.h"

namespace weir {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(SuspensionRecordTest, ATaskThatBeatsIsNotFenced) {
  SuspensionRecord record(absl::Seconds(5), absl::Seconds(1), 0);
  for (int64_t now = 0; now < 100 * kSecond; now += 4 * kSecond) {
    EXPECT_FALSE(record.IsFenced(now));
    EXPECT_FALSE(record.Beat(now));
  }
}

TEST(SuspensionRecordTest, ATaskThatStoodStillIsFencedBeforeItNotices) {
  SuspensionRecord record(absl::Seconds(5), absl::Seconds(1), 0);
  EXPECT_FALSE(record.IsFenced(5 * kSecond));
  EXPECT_TRUE(record.IsFenced(5 * kSecond + 1));
  EXPECT_EQ(record.Beat(8 * kSecond), absl::Seconds(8));
  EXPECT_TRUE(record.IsFenced(9 * kSecond - 1));
  EXPECT_FALSE(record.IsFenced(9 * kSecond));
  EXPECT_FALSE(record.Beat(9 * kSecond));
}

TEST(SuspensionWatchTest, ChecksAndReports) {
  absl::Notification returned;
  SuspensionWatch watch({.limit = absl::ZeroDuration(), .settling = absl::Hours(1), .returned = [&](absl::Duration) {
                           if (!returned.HasBeenNotified()) returned.Notify();
                         }});
  returned.WaitForNotification();
  EXPECT_THAT(watch.Check(), StatusIs(absl::StatusCode::kUnavailable, ::testing::HasSubstr("suspended")));
  SuspensionWatch patient({.limit = absl::Hours(1)});
  EXPECT_THAT(patient.Check(), IsOk());
}

}  // namespace
}  // namespace weir
