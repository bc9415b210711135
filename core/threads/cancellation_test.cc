#include "core/threads/cancellation.h"

#include <thread>

#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(CancellationTest, RunsEveryCallbackOnce) {
  CancellationManager manager;
  int runs = 0;
  for (int i = 0; i < 3; ++i) EXPECT_NE(manager.Register([&] { ++runs; }), CancellationManager::kInvalidToken);
  manager.StartCancel();
  manager.StartCancel();
  EXPECT_EQ(runs, 3);
}

TEST(CancellationTest, TellsTheFirstReason) {
  CancellationManager manager;
  EXPECT_TRUE(manager.status().ok());
  manager.StartCancel(errors::Unavailable("task 1 died"));
  manager.StartCancel(errors::Internal("later"));
  EXPECT_TRUE(manager.IsCancelled());
  EXPECT_EQ(manager.status().message(), "task 1 died");
}

TEST(CancellationTest, RefusesCallbacksOnceCancelled) {
  CancellationManager manager;
  manager.StartCancel();
  EXPECT_EQ(manager.Register([] { FAIL(); }), CancellationManager::kInvalidToken);
}

TEST(CancellationTest, ADeregisteredCallbackDoesNotRun) {
  CancellationManager manager;
  const auto first = manager.Register([] { FAIL(); });
  const auto second = manager.Register([] { FAIL(); });
  EXPECT_TRUE(manager.Deregister(first));
  EXPECT_TRUE(manager.TryDeregister(second));
  manager.StartCancel();
  EXPECT_FALSE(manager.Deregister(first));
}

TEST(CancellationTest, ACallbackMayDeregisterAnother) {
  CancellationManager manager;
  CancellationManager::Token tokens[2];
  for (auto& token : tokens) {
    token = manager.Register([&] {
      EXPECT_FALSE(manager.Deregister(tokens[0]));
      EXPECT_FALSE(manager.Deregister(tokens[1]));
    });
  }
  manager.StartCancel();
}

TEST(CancellationTest, DeregisterWaitsForARunningCallback) {
  CancellationManager manager;
  std::atomic<bool> started{false}, finished{false};
  const auto token = manager.Register([&] {
    started = true;
    std::this_thread::yield();
    finished = true;
  });
  std::thread canceller([&] { manager.StartCancel(); });
  while (!started) std::this_thread::yield();
  EXPECT_FALSE(manager.Deregister(token));
  EXPECT_TRUE(finished);
  canceller.join();
}

TEST(CancellationTest, AChildIsCancelledWithItsParentAndNotTheReverse) {
  CancellationManager parent;
  CancellationManager first(&parent);
  {
    CancellationManager second(&parent);
    second.StartCancel();
    EXPECT_FALSE(parent.IsCancelled());
  }
  parent.StartCancel(errors::Aborted("stop"));
  EXPECT_EQ(first.status().code(), absl::StatusCode::kAborted);
  CancellationManager late(&parent);
  EXPECT_TRUE(late.IsCancelled());
}

}  // namespace
}  // namespace weir
