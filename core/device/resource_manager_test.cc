#include "core/device/resource_manager.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace weir {
namespace {

class Counter : public Resource {
 public:
  explicit Counter(int value = 0) : value(value) {}
  std::string DebugString() const override { return absl::StrCat("counter ", value); }
  int64_t MemoryUsed() const override { return sizeof(value); }
  int value;
};

class Other : public Resource {
 public:
  std::string DebugString() const override { return "other"; }
};

constexpr char kDevice[] = "/job:a/replica:0/task:0/device:CPU:0";

TEST(ResourceManagerTest, FindsByContainerTypeAndName) {
  ResourceManager manager;
  ASSERT_TRUE(manager.Create("", "x", std::make_shared<Counter>(1)).ok());
  ASSERT_TRUE(manager.Create("c", "x", std::make_shared<Counter>(2)).ok());
  ASSERT_TRUE(manager.Create("c", "x", std::make_shared<Other>()).ok());
  EXPECT_EQ((*manager.Lookup<Counter>("localhost", "x"))->value, 1);
  EXPECT_EQ((*manager.Lookup<Counter>("c", "x"))->value, 2);
  EXPECT_EQ(manager.Create("c", "x", std::make_shared<Counter>()).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(manager.Lookup<Counter>("c", "y").status().code(), absl::StatusCode::kNotFound);
}

TEST(ResourceManagerTest, LookupOrCreateMakesOneObject) {
  ResourceManager manager;
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      auto found = manager.LookupOrCreate<Counter>("c", "x", [&]() -> absl::StatusOr<std::shared_ptr<Counter>> {
        ++made;
        // Another name is not blocked meanwhile.
        EXPECT_FALSE(manager.Lookup<Counter>("c", "y").ok());
        return std::make_shared<Counter>(7);
      });
      EXPECT_EQ((*found)->value, 7);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
}

TEST(ResourceManagerTest, AFailedMakerLeavesTheNameFree) {
  ResourceManager manager;
  using Made = absl::StatusOr<std::shared_ptr<Counter>>;
  auto failed = manager.LookupOrCreate<Counter>("c", "x", []() -> Made { return errors::Internal("no"); });
  EXPECT_EQ(failed.status().message(), "no");
  EXPECT_TRUE(manager.LookupOrCreate<Counter>("c", "x", []() -> Made { return std::make_shared<Counter>(); }).ok());
}

TEST(ResourceManagerTest, HandlesFindTheirObject) {
  ResourceManager manager(kDevice);
  ASSERT_TRUE(manager.Create("c", "x", std::make_shared<Counter>(3)).ok());
  ResourceHandle handle = manager.MakeHandle<Counter>(kDevice, "c", "x", "Counter");
  EXPECT_EQ((*manager.Lookup<Counter>(handle))->value, 3);
  EXPECT_EQ(manager.Lookup<Other>(handle).status().code(), absl::StatusCode::kInvalidArgument);
  ResourceHandle elsewhere = handle;
  elsewhere.device = "/job:b/replica:0/task:0/device:CPU:0";
  EXPECT_EQ(manager.Lookup<Counter>(elsewhere).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(manager.Delete(handle).ok());
  EXPECT_EQ(manager.Delete(handle).code(), absl::StatusCode::kNotFound);
}

TEST(ResourceManagerTest, AnAnonymousHandleOwnsItsObject) {
  ResourceManager manager;
  ResourceHandle handle = manager.MakeHandle<Counter>(kDevice, "c", "anonymous", "Counter");
  handle.resource = std::make_shared<Counter>(9);
  EXPECT_EQ((*manager.Lookup<Counter>(handle))->value, 9);
}

TEST(ResourceManagerTest, ARemovedObjectLivesUntilItsLastUserLetsGo) {
  ResourceManager manager;
  auto counter = std::make_shared<Counter>(1);
  ASSERT_TRUE(manager.Create("a", "x", counter).ok());
  ASSERT_TRUE(manager.Create("b", "x", counter).ok());
  EXPECT_EQ(manager.MemoryUsed(), 8);
  EXPECT_NE(manager.DebugString().find("a/x"), std::string::npos);
  EXPECT_TRUE(manager.Delete<Counter>("a", "x").ok());
  manager.ClearContainer("b");
  manager.ClearContainer("nowhere");
  EXPECT_EQ(counter.use_count(), 1);
  ASSERT_TRUE(manager.Create("a", "x", counter).ok());
  manager.Clear();
  EXPECT_EQ(counter.use_count(), 1);
}

}  // namespace
}  // namespace weir
