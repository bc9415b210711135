#include "core/memory/memory_info.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace weir {
namespace {

class AvailableMemoryTest : public ::testing::Test {
 protected:
  AvailableMemoryTest()
      : root_(std::filesystem::path(::testing::TempDir()) /
              ("memory_info." + Name() + "." + std::to_string(getpid()))) {}
  ~AvailableMemoryTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& content) {
    const std::filesystem::path file = root_.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content;
  }
  int64_t Available() const { return AvailableMemory(root_); }

 private:
  static std::string Name() { return ::testing::UnitTest::GetInstance()->current_test_info()->name(); }
  const std::filesystem::path root_;
};

TEST_F(AvailableMemoryTest, IsTheMachines) {
  Write("/proc/meminfo", "MemTotal:       2000 kB\nMemFree:         100 kB\nMemAvailable:    1000 kB\n");
  EXPECT_EQ(Available(), 1000 * 1024);
  Write("/sys/fs/cgroup/memory.max", "max\n");
  Write("/sys/fs/cgroup/memory.current", "5000\n");
  EXPECT_EQ(Available(), 1000 * 1024);
}

TEST_F(AvailableMemoryTest, IsWhatTheControlGroupLeaves) {
  Write("/proc/meminfo", "MemAvailable:    1000 kB\n");
  Write("/sys/fs/cgroup/memory.max", "9000\n");
  Write("/sys/fs/cgroup/memory.current", "5000\n");
  Write("/sys/fs/cgroup/memory.stat", "anon 3000\nfile 2000\ninactive_file 1500\n");
  EXPECT_EQ(Available(), 9000 - (5000 - 1500));
  Write("/sys/fs/cgroup/memory.current", "12000\n");
  EXPECT_EQ(Available(), 0);
}

TEST_F(AvailableMemoryTest, KnowsTheFirstVersionOfControlGroups) {
  Write("/proc/meminfo", "MemAvailable:    1000 kB\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9000\n");
  Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "5000\n");
  EXPECT_EQ(Available(), 4000);
}

TEST_F(AvailableMemoryTest, IsWithoutLimitWhereNothingTells) {
  EXPECT_EQ(Available(), std::numeric_limits<int64_t>::max());
}

TEST(AvailableMemory, OfThisMachineIsSome) { EXPECT_GT(AvailableMemory(), 1 << 20); }

}  // namespace
}  // namespace weir
