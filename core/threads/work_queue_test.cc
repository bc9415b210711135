#include "core/threads/work_queue.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <latch>
#include <limits>
#include <new>
#include <thread>
#include <vector>

#include "core/threads/compute_guest.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

std::unique_ptr<WorkQueue> NewQueue(int threads, std::string name = "wq-test") {
  WorkQueue::Options options;
  options.name = std::move(name);
  options.compute_threads = threads;
  return WorkQueue::Create(options);
}

int ThreadsNamed(const std::string& name) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream comm(entry.path() / "comm");
    std::string line;
    if (std::getline(comm, line) && line == name) ++count;
  }
  return count;
}

TEST(WorkQueueTest, RunsEverythingBeforeItEnds) {
  std::atomic<int> runs{0};
  auto queue = NewQueue(2);
  for (int i = 0; i < 1000; ++i) {
    queue->Schedule([&, raw = queue.get()] {
      EXPECT_TRUE(raw->InComputeThread());
      ++runs;
    });
    queue->ScheduleBlocking([&] { ++runs; });
  }
  EXPECT_FALSE(queue->InComputeThread());
  queue.reset();
  EXPECT_EQ(runs, 2000);
}

#if defined(__SSE2__)
TEST(WorkQueueTest, ItsThreadsFlushDenormals) {
  volatile float least = std::numeric_limits<float>::min();
  std::atomic<float> computed{1}, blocking{1};
  auto queue = NewQueue(1);
  queue->Schedule([&] { computed = least / 2; });
  queue->ScheduleBlocking([&] { blocking = least / 2; });
  queue.reset();
  EXPECT_EQ(computed, 0);
  EXPECT_EQ(blocking, 0);
  EXPECT_GT(least / 2, 0);
}
#endif

TEST(WorkQueueTest, AGuestFindsItsOwnTasksAndNoOthers) {
  auto queue = NewQueue(1);
  std::latch busy(1), free(1);
  queue->Schedule([&] {
    busy.count_down();
    free.wait();
  });
  busy.wait();
  const int me = 0, other = 0;
  std::atomic<int> mine{0}, others{0};
  {
    ComputeGuest guest(*queue, &me);
    queue->Schedule([&] { ++others; }, &other);
    queue->Schedule([&] { ++others; });
    queue->Schedule([&] { ++mine; }, &me);
    ComputePool::Task task = guest.FindTask([] { return false; });
    ASSERT_NE(task, nullptr);
    task();
    EXPECT_EQ(mine, 1);
    EXPECT_EQ(guest.FindTask([] { return false; }), nullptr);
    EXPECT_EQ(others, 0);
  }
  free.count_down();
  queue.reset();
  EXPECT_EQ(others, 2);
}

TEST(WorkQueueTest, AGuestSearchesUntilItIsDone) {
  auto queue = NewQueue(2);
  ComputeGuest guest(*queue, &queue);
  int asked = 0;
  // A guest that is stopped for 30 µs meanwhile gives up sooner.
  for (int tried = 0; tried < 1000 && asked != 3; ++tried) {
    asked = 0;
    EXPECT_EQ(guest.FindTask([&] { return ++asked == 3; }), nullptr);
  }
  EXPECT_EQ(asked, 3);
}

TEST(WorkQueueTest, AGuestSharesInLoops) {
  auto queue = NewQueue(2);
  std::atomic<bool> done{false};
  std::latch together(2);
  ComputeGuest guest(*queue, &queue);
  // Each block waits for the other's thread: it takes two to end the loop.
  queue->Schedule([&] {
    queue->ParallelFor(2, 1'000'000, [&](int64_t, int64_t) { together.arrive_and_wait(); });
    done = true;
  });
  while (!done) {
    if (ComputePool::Task task = guest.FindTask([&] { return done.load(); })) task();
  }
}

TEST(WorkQueueTest, GuestsTakeThePlacesOfAllThreadsButOne) {
  constexpr int kThreads = 3;
  auto queue = NewQueue(kThreads);
  std::atomic<int> running{0}, most{0};
  const auto count = [&] {
    const int now = ++running;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::yield();
    --running;
  };
  std::atomic<int> left{300};
  {
    ComputeGuest first(*queue, nullptr), second(*queue, nullptr), third(*queue, nullptr);
    for (int i = left; i > 0; --i) {
      queue->Schedule([&] {
        count();
        --left;
      });
    }
    while (left > 0) std::this_thread::yield();
    EXPECT_EQ(most, 1);
  }
  // Their places are returned.
  std::latch together(kThreads);
  for (int i = 0; i < kThreads; ++i) queue->Schedule([&] { together.arrive_and_wait(); });
  queue.reset();
}

TEST(WorkQueueTest, WhatWaitedForAGuestToLeaveIsRun) {
  auto queue = NewQueue(2);
  std::latch together(2);
  {
    ComputeGuest guest(*queue, nullptr);
    for (int i = 0; i < 2; ++i) queue->Schedule([&] { together.arrive_and_wait(); });
  }
  together.wait();
}

// Each task waits for the next one, which no thread would be left to run.
TEST(WorkQueueTest, TasksThatGoOnLetOthersRun) {
  constexpr int kTasks = 5;
  for (const int guests : {0, 2}) {
    std::atomic<int> begun{0};
    std::atomic<bool> late{false};
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(50);
    auto queue = NewQueue(2);
    for (int i = 0; i < guests; ++i) queue->compute_pool().GuestEnters();
    for (int i = 1; i <= kTasks; ++i) {
      queue->Schedule([&, raw = queue.get()] {
        ++begun;
        while (begun < kTasks && !late) {
          raw->compute_pool().LetOthersRun();
          if (std::chrono::steady_clock::now() > deadline) late = true;
        }
      });
    }
    while (begun < kTasks && !late) std::this_thread::yield();
    EXPECT_FALSE(late) << "with " << guests << " guests, " << begun << " tasks have begun";
    for (int i = 0; i < guests; ++i) queue->compute_pool().GuestLeaves();
  }
}

// Once such tasks have ended, no more threads run than before.
TEST(WorkQueueTest, ThreadsThatWereAddedRestLater) {
  constexpr int kTasks = 4;
  std::latch all_begun(kTasks), done(100);
  std::atomic<int> running{0};
  auto queue = NewQueue(1);
  for (int i = 0; i < kTasks; ++i) {
    queue->Schedule([&, raw = queue.get()] {
      all_begun.count_down();
      while (!all_begun.try_wait()) raw->compute_pool().LetOthersRun();
    });
  }
  all_begun.wait();
  for (int i = 0; i < 100; ++i) {
    queue->Schedule([&] {
      EXPECT_EQ(++running, 1);
      std::this_thread::yield();
      --running;
      done.count_down();
    });
  }
  done.wait();
}

TEST(WorkQueueTest, OnAComputeThreadAGuestIsNone) {
  auto queue = NewQueue(1);
  std::atomic<bool> ran{false};
  queue->Schedule([&, raw = queue.get()] {
    ComputeGuest guest(*raw, raw);
    EXPECT_EQ(guest.FindTask([] { return false; }), nullptr);
    ran = true;
  });
  queue.reset();
  EXPECT_TRUE(ran);
}

TEST(WorkQueueTest, TasksMayScheduleTasksWhileTheQueueEnds) {
  std::atomic<int> runs{0};
  for (int round = 0; round < 50; ++round) {
    auto queue = NewQueue(2);
    WorkQueue* raw = queue.get();
    raw->Schedule([&, raw] {
      raw->ScheduleBlocking([&, raw] { raw->Schedule([&] { ++runs; }); });
      raw->Schedule([&] { ++runs; });
    });
  }
  EXPECT_EQ(runs, 100);
}

TEST(WorkQueueTest, StartsThreadsOnlyWhenNeeded) {
  auto queue = NewQueue(4, "wq-lazy");
  EXPECT_EQ(ThreadsNamed("wq-lazy"), 0);
  for (int i = 0; i < 10; ++i) {
    std::latch done(1);
    queue->Schedule([&] { done.count_down(); });
    done.wait();
  }
  EXPECT_GE(ThreadsNamed("wq-lazy"), 1);
  EXPECT_LE(ThreadsNamed("wq-lazy"), 4);
}

TEST(WorkQueueTest, TasksRunAtOnceOnDifferentThreads) {
  auto queue = NewQueue(3);
  std::latch all_run(3), done(3);
  for (int i = 0; i < 3; ++i) {
    queue->Schedule([&] {
      all_run.arrive_and_wait();
      done.count_down();
    });
  }
  done.wait();
}

TEST(WorkQueueTest, BlockingThreadsGrowWithNeed) {
  auto queue = NewQueue(1);
  std::latch all_run(40), done(40);
  for (int i = 0; i < 40; ++i) {
    queue->ScheduleBlocking([&] {
      all_run.arrive_and_wait();
      done.count_down();
    });
  }
  done.wait();
}

TEST(WorkQueueTest, BlockingTasksBeyondTheLimitWait) {
  WorkQueue::Options options;
  options.max_blocking_threads = 2;
  std::atomic<int> running{0}, most{0}, runs{0};
  {
    auto queue = WorkQueue::Create(options);
    for (int i = 0; i < 50; ++i) {
      queue->ScheduleBlocking([&] {
        const int now = ++running;
        int seen = most;
        while (seen < now && !most.compare_exchange_weak(seen, now)) {
        }
        std::this_thread::yield();
        --running;
        ++runs;
      });
    }
  }
  EXPECT_EQ(runs, 50);
  EXPECT_LE(most, 2);
}

TEST(ParallelForTest, CoversTheRangeOnce) {
  auto queue = NewQueue(4);
  for (int64_t total : {0, 1, 2, 7, 100, 1001}) {
    for (int64_t cost : {0, 1, 1000, 1000000}) {
      std::vector<std::atomic<int>> hits(total);
      queue->ParallelFor(total, cost, [&](int64_t begin, int64_t end) {
        EXPECT_LT(begin, end);
        for (int64_t i = begin; i < end; ++i) ++hits[i];
      });
      for (const auto& hit : hits) EXPECT_EQ(hit, 1);
    }
  }
}

TEST(ParallelForTest, SmallLoopsStayOnTheCallingThread) {
  auto queue = NewQueue(4, "wq-small");
  int calls = 0;
  queue->ParallelFor(99, 1000, [&](int64_t begin, int64_t end) {
    ++calls;
    EXPECT_EQ(end - begin, 99);
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(ThreadsNamed("wq-small"), 0);
}

TEST(ParallelForTest, LargeLoopsAreShared) {
  auto queue = NewQueue(2);
  std::latch two_threads(2);
  std::atomic<int> blocks{0};
  queue->ParallelFor(2, 10'000'000, [&](int64_t begin, int64_t end) {
    two_threads.arrive_and_wait();
    ++blocks;
  });
  EXPECT_EQ(blocks, 2);
}

TEST(ParallelForTest, ThrowsWhatABlockThrew) {
  auto queue = NewQueue(2);
  std::latch two_threads(2);
  const auto loop = [&](int64_t, int64_t) {
    two_threads.arrive_and_wait();
    throw std::bad_alloc();
  };
  EXPECT_THROW(queue->ParallelFor(2, 10'000'000, loop), std::bad_alloc);
}

TEST(ParallelForTest, NestsWithoutDeadlock) {
  auto queue = NewQueue(2);
  std::atomic<int> hits{0};
  std::latch done(8);
  for (int task = 0; task < 8; ++task) {
    queue->Schedule([&] {
      queue->ParallelFor(8, 1'000'000, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          queue->ParallelFor(8, 1'000'000, [&](int64_t b, int64_t e) { hits += static_cast<int>(e - b); });
        }
      });
      done.count_down();
    });
  }
  done.wait();
  EXPECT_EQ(hits, 8 * 8 * 8);
}

}  // namespace
}  // namespace weir
