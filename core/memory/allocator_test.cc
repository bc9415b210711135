#include "core/memory/allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "core/memory/memory_info.h"
#include "core/tensor/tensor.h"

namespace weir {
namespace {

TEST(CpuAllocatorTest, BlocksOfEverySizeAreAlignedAndApart) {
  Allocator* allocator = CpuAllocator();
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  for (size_t base = 1; base <= (size_t{8} << 20); base *= 2) {
    for (size_t bytes : {base - 1, base, base + 1}) {
      auto* block = static_cast<unsigned char*>(allocator->AllocateRaw(bytes));
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % kTensorAlignment, 0u);
      std::memset(block, static_cast<int>(blocks.size()), bytes);
      blocks.emplace_back(block, bytes);
    }
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    auto [block, bytes] = blocks[i];
    for (size_t b = 0; b < bytes; b += bytes / 3 + 1) EXPECT_EQ(block[b], static_cast<unsigned char>(i));
    allocator->DeallocateRaw(block, bytes);
  }
}

TEST(CpuAllocatorTest, WhatCannotBeIsNull) {
  EXPECT_EQ(CpuAllocator()->AllocateRaw(SIZE_MAX), nullptr);
  EXPECT_EQ(CpuAllocator()->AllocateRaw(size_t{1} << 60), nullptr);
}

TEST(CpuAllocatorTest, MoreThanThereIsIsNull) {
  const auto is_given = [] {
    const size_t bytes = static_cast<size_t>(AvailableMemory()) + (size_t{1} << 30);
    void* const block = CpuAllocator()->AllocateRaw(bytes);
    if (block == nullptr) return false;
    CpuAllocator()->DeallocateRaw(block, bytes);
    return true;
  };
  // Another process may free that much meanwhile.
  bool given = is_given();
  for (int tried = 1; tried < 20 && given; ++tried) given = is_given();
  EXPECT_FALSE(given);
}

TEST(CpuAllocatorTest, ThreadsHandBlocksToEachOther) {
  constexpr int kThreads = 4, kRounds = 200;
  std::mutex mu;
  std::vector<Tensor> box;
  auto work = [&](int seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < kRounds; ++i) {
      Tensor t(DT_INT32, TensorShape({static_cast<int64_t>(1 + random() % 20000)}));
      std::fill_n(t.data<int32_t>(), t.NumElements(), seed);
      std::lock_guard<std::mutex> lock(mu);
      box.push_back(std::move(t));
      if (box.size() > 20) {
        std::swap(box[random() % box.size()], box.back());
        const Tensor& other = box.back();
        EXPECT_EQ(other.data<int32_t>()[0], other.data<int32_t>()[other.NumElements() - 1]);
        box.pop_back();
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

TEST(CpuAllocatorTest, StatisticsCountLargeBlocks) {
  Allocator* allocator = CpuAllocator();
  const AllocatorStats before = allocator->Stats();
  constexpr size_t kBytes = 16 << 20;
  void* block = allocator->AllocateRaw(kBytes);
  const AllocatorStats during = allocator->Stats();
  EXPECT_GT(during.num_allocs, before.num_allocs);
  EXPECT_GE(during.bytes_in_use, before.bytes_in_use + static_cast<int64_t>(kBytes));
  EXPECT_GE(during.peak_bytes_in_use, during.bytes_in_use);
  EXPECT_GE(during.largest_alloc_size, static_cast<int64_t>(kBytes));
  allocator->DeallocateRaw(block, kBytes);
  EXPECT_LT(allocator->Stats().bytes_in_use, during.bytes_in_use);
  allocator->ReleaseUnused();
}

}  // namespace
}  // namespace weir
