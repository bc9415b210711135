#include "core/threads/timer_queue.h"

#include <future>
#include <vector>

#include <gtest/gtest.h>

#include "core/clock.h"

namespace weir {
namespace {

// Holds the thread of the timers until Release, so that none of those scheduled meanwhile runs early.
class Gate {
 public:
  explicit Gate(TimerQueue& timers) {
    timers.Schedule(absl::InfinitePast(), [open = open_.get_future().share()] { open.wait(); });
  }
  void Release() { open_.set_value(); }

 private:
  std::promise<void> open_;
};

TEST(TimerQueue, RunsTimersInOrderOfTime) {
  TimerQueue timers;
  Gate gate(timers);
  std::vector<int> ran;
  std::promise<void> done;
  const absl::Time now = MonotonicNow();
  timers.Schedule(now + absl::Milliseconds(20), [&] {
    ran.push_back(2);
    done.set_value();
  });
  timers.Schedule(now + absl::Milliseconds(5), [&] { ran.push_back(1); });
  gate.Release();
  done.get_future().wait();
  EXPECT_EQ(ran, (std::vector<int>{1, 2}));
}

TEST(TimerQueue, CancelledTimerNeverRuns) {
  TimerQueue timers;
  Gate gate(timers);
  std::promise<void> done;
  bool ran = false;
  const absl::Time now = MonotonicNow();
  const auto token = timers.Schedule(now + absl::Milliseconds(5), [&] { ran = true; });
  timers.Cancel(token);
  timers.Schedule(now + absl::Milliseconds(20), [&] { done.set_value(); });
  gate.Release();
  done.get_future().wait();
  EXPECT_FALSE(ran);
}

TEST(TimerQueue, TimerThatComesBeforeThoseWaitedForIsNotLate) {
  TimerQueue timers;
  std::promise<void> done;
  timers.Schedule(MonotonicNow() + absl::Hours(1), [] {});
  const auto far = timers.Schedule(MonotonicNow() + absl::Hours(1), [] {});
  timers.Cancel(far);
  timers.Schedule(MonotonicNow() + absl::Milliseconds(1), [&] { done.set_value(); });
  done.get_future().wait();
}

}  // namespace
}  // namespace weir
