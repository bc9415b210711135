#include "distribute/collective/gpu/gpu_member_table.h"

#include "core/gpu/simulated_gpu.h"
#include "core/testing.h"
#include "distribute/collective/gpu/simulated_gpu_collectives.h"

namespace weir {
namespace {

constexpr char kLeader[] = "/job:worker/replica:0/task:0";

class GpuMemberTableTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(gpu_,
                         GpuDevice::Create(std::make_shared<SimulatedGpu>(SimulatedGpu::Options()), work_queue_.get(),
                                           {.task = *DeviceName::Parse(kLeader), .config = {.memory_limit = 1 << 20}}));
  }
  std::shared_ptr<GpuGroupMember> Find(int32_t group, uint64_t formation = 1) {
    auto member = table_.Find({.leader = kLeader, .group = group, .device = gpu_->name()}, formation,
                              {.device = gpu_.get(), .library = library_});
    EXPECT_THAT(member, IsOk());
    return *std::move(member);
  }

  const std::unique_ptr<WorkQueue> work_queue_ = WorkQueue::Create({.compute_threads = 1});
  const std::shared_ptr<GpuCollectiveLibrary> library_ = NewSimulatedGpuCollectives();
  std::unique_ptr<GpuDevice> gpu_;
  GpuMemberTable table_{2};
};

TEST_F(GpuMemberTableTest, AGroupKeepsItsMember) {
  const GpuGroupMember* const first = Find(1).get();
  EXPECT_EQ(Find(1).get(), first);
  EXPECT_EQ(table_.size(), 1);
}

TEST_F(GpuMemberTableTest, TheMemberOfAGroupThatFormedAgainIsReleased) {
  std::shared_ptr<GpuGroupMember> used = Find(1, 1);
  const std::weak_ptr<GpuGroupMember> old = used;
  Find(1, 2);
  EXPECT_EQ(table_.size(), 2) << "a call still uses the old one";
  used.reset();
  Find(1, 2);
  EXPECT_TRUE(old.expired());
  EXPECT_EQ(table_.size(), 1);
}

TEST_F(GpuMemberTableTest, MembersOfGroupsThatAreUsedNoMoreAreReleased) {
  const std::weak_ptr<GpuGroupMember> first = Find(1), second = Find(2);
  Find(1);
  Find(3);
  EXPECT_FALSE(first.expired());
  EXPECT_TRUE(second.expired());
  for (int32_t group = 4; group < 100; ++group) Find(group);
  EXPECT_EQ(table_.size(), 2);
}

TEST_F(GpuMemberTableTest, MembersInUseAreKept) {
  const auto first = Find(1), second = Find(2), third = Find(3);
  EXPECT_EQ(table_.size(), 3);
  EXPECT_EQ(Find(1), first);
}

// Else ranks of one group would use communicators of different generations.
TEST_F(GpuMemberTableTest, AMemberThatReturnsTakesNoTurnOfItsEarlierGenerations) {
  EXPECT_EQ(Find(1)->NextTurn(0)->generation, 1);
  Find(2);
  Find(3);
  const auto again = Find(1);
  EXPECT_EQ(again->broken(), 1);
  EXPECT_EQ(again->NextTurn(0)->generation, 2);
}

}  // namespace
}  // namespace weir
