#include "core/gpu/gpu_memory_pool.h"

#include <optional>

#include "core/gpu/simulated_gpu.h"
#include "core/tensor/tensor.h"
#include "core/testing.h"

namespace weir {
namespace {

using testing::HasSubstr;

constexpr size_t kMiB = size_t{1} << 20;

class GpuMemoryPoolTest : public testing::Test {
 protected:
  ~GpuMemoryPoolTest() override { EXPECT_EQ(allocator_.CheckInvariants(), ""); }

  SimulatedGpu gpu_{{.memory_bytes = 64 * kMiB}};
  const std::unique_ptr<GpuStream> stream_ = *gpu_.CreateStream("compute");
  GpuAllocator allocator_{&gpu_, {.limit = 4 * kMiB, .allow_growth = true}};
  std::optional<GpuMemoryPool> pool_{std::in_place, &allocator_, stream_.get(), "the graph"};
};

TEST_F(GpuMemoryPoolTest, WhatIsFreedIsThePoolsStill) {
  void* const first = *pool_->Allocate(1000);
  allocator_.Free(first);
  void* const other = *allocator_.Allocate(1000, stream_.get());
  EXPECT_NE(other, first);
  EXPECT_EQ(*pool_->Allocate(1000), first);
  allocator_.Free(first);
  allocator_.Free(other);
  EXPECT_EQ(allocator_.Stats().bytes_in_use, 1024);
  pool_.reset();
  EXPECT_EQ(allocator_.Stats().bytes_in_use, 0);
}

TEST_F(GpuMemoryPoolTest, AMuchLargerBlockIsNotGivenForASmallOne) {
  void* const large = *pool_->Allocate(kMiB);
  allocator_.Free(large);
  void* const small = *pool_->Allocate(256);
  EXPECT_NE(small, large);
  EXPECT_EQ(*pool_->Allocate(kMiB), large);
  allocator_.Free(small);
  allocator_.Free(large);
}

TEST_F(GpuMemoryPoolTest, WhoHoldsABlockWhenThePoolEndsFreesItLater) {
  void* const block = *pool_->Allocate(1000);
  pool_.reset();
  EXPECT_EQ(allocator_.Stats().bytes_in_use, 1024);
  allocator_.Free(block);
  EXPECT_EQ(allocator_.Stats().bytes_in_use, 0);
}

TEST_F(GpuMemoryPoolTest, ItsUseIsKnown) {
  void* const block = *pool_->Allocate(1000);
  allocator_.Free(*pool_->Allocate(5000));
  EXPECT_EQ(pool_->use().bytes, 1024 + 5120);
  EXPECT_EQ(pool_->use().blocks_in_use, 1);
  EXPECT_EQ(pool_->BlockOf(static_cast<char*>(block) + 10), block);
  EXPECT_EQ(allocator_.Stats().bytes_in_pools, 1024 + 5120);
  EXPECT_THAT(allocator_.Allocate(8 * kMiB, stream_.get()).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("'the graph' 6KiB in 2 blocks")));
  allocator_.Free(block);
  EXPECT_EQ(pool_->BlockOf(&gpu_), nullptr);
}

TEST_F(GpuMemoryPoolTest, TensorsOfAScopeAreItsMemory) {
  GpuTensorAllocator tensors(&allocator_, stream_.get());
  {
    const GpuPoolScope scope(&*pool_);
    EXPECT_NE(pool_->BlockOf(Tensor::Allocate(&tensors, DT_FLOAT, TensorShape({8}))->raw_data()), nullptr);
  }
  EXPECT_EQ(pool_->BlockOf(Tensor::Allocate(&tensors, DT_FLOAT, TensorShape({8}))->raw_data()), nullptr);
}

}  // namespace
}  // namespace weir
