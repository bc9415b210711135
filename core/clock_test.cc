#include "core/clock.h"

#include <condition_variable>

#include "core/mutex.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(ClockTest, TimeOnlyGrows) {
  absl::Time last = MonotonicNow();
  for (int i = 0; i < 1000; ++i) {
    const absl::Time now = MonotonicNow();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(ClockTest, SteadyTimeIsAsFarAway) {
  const auto before = std::chrono::steady_clock::now();
  const auto steady = ToSteady(MonotonicNow() + absl::Seconds(50));
  const auto after = std::chrono::steady_clock::now();
  EXPECT_GE(steady, before + std::chrono::seconds(50) - (after - before));
  EXPECT_LE(steady, after + std::chrono::seconds(50));
}

TEST(ClockTest, InfiniteTimesCanBeWaitedFor) {
  EXPECT_GT(ToSteady(absl::InfiniteFuture()), std::chrono::steady_clock::now() + std::chrono::hours(24));
  std::condition_variable never;
  Mutex mutex;
  MutexLock lock(mutex);
  EXPECT_EQ(lock.WaitUntil(never, ToSteady(absl::InfinitePast())), std::cv_status::timeout);
}

}  // namespace
}  // namespace weir
