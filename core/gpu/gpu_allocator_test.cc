#include "core/gpu/gpu_allocator.h"

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "core/clock.h"
#include "core/gpu/simulated_gpu.h"
#include "core/testing.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr size_t kMiB = size_t{1} << 20;

class GpuAllocatorTest : public testing::Test {
 protected:
  GpuAllocatorTest() {
    a_ = *gpu_.CreateStream("a");
    b_ = *gpu_.CreateStream("b");
  }

  static GpuAllocator::Options Growing(size_t limit) { return {.limit = limit, .allow_growth = true}; }
  absl::Status Write(GpuStream& stream, const char* name, void* data, size_t bytes) {
    return stream.Launch({.name = name, .simulate = [](const void*) {}}, {}, {GpuAccess::Write(data, bytes)});
  }

  SimulatedGpu gpu_{{.memory_bytes = 64 * kMiB}};
  std::unique_ptr<GpuStream> a_, b_;
};

TEST_F(GpuAllocatorTest, TheSameStreamGetsFreedMemoryAtOnce) {
  GpuAllocator allocator(&gpu_, Growing(16 * kMiB));
  gpu_.Hang(a_.get());
  void* const first = *allocator.Allocate(1000, a_.get());
  ASSERT_THAT(Write(*a_, "first", first, 1000), IsOk());
  allocator.Free(first);
  void* const second = *allocator.Allocate(1000, a_.get());
  EXPECT_EQ(first, second);
  ASSERT_THAT(Write(*a_, "second", second, 1000), IsOk());
  EXPECT_EQ(allocator.Stats().num_waits, 0);
  EXPECT_THAT(gpu_.Races(), IsEmpty());
  allocator.Free(second);
  gpu_.Release(a_.get());
}

TEST_F(GpuAllocatorTest, AnotherStreamWaitsForTheLastUse) {
  GpuAllocator allocator(&gpu_, {.limit = 4096});
  gpu_.Hang(a_.get());
  void* const first = *allocator.Allocate(4096, a_.get());
  ASSERT_THAT(Write(*a_, "first", first, 4096), IsOk());
  allocator.Free(first);
  void* const second = *allocator.Allocate(4096, b_.get());
  EXPECT_EQ(first, second);
  ASSERT_THAT(Write(*b_, "second", second, 4096), IsOk());
  EXPECT_EQ(allocator.Stats().num_waits, 1);
  EXPECT_THAT(gpu_.Races(), IsEmpty());
  EXPECT_THAT(b_->Synchronize(MonotonicNow()), StatusIs(absl::StatusCode::kDeadlineExceeded));
  gpu_.Release(a_.get());
  EXPECT_THAT(b_->Synchronize(), IsOk());
  allocator.Free(second);
}

// Detects the race that the allocator prevents.
TEST_F(GpuAllocatorTest, AUseThatTheAllocatorIsNotToldOfIsARace) {
  GpuAllocator allocator(&gpu_, {.limit = 4096});
  void* const first = *allocator.Allocate(4096, a_.get());
  ASSERT_THAT(Write(*b_, "secret", first, 4096), IsOk());
  allocator.Free(first);
  void* const second = *allocator.Allocate(4096, a_.get());
  ASSERT_THAT(Write(*a_, "second", second, 4096), IsOk());
  EXPECT_THAT(gpu_.Races(), testing::ElementsAre(AllOf(HasSubstr("'secret'"), HasSubstr("'second'"))));
  allocator.Free(second);
}

TEST_F(GpuAllocatorTest, FurtherStreamsThatUseItAreWaitedForToo) {
  GpuAllocator allocator(&gpu_, {.limit = 4096});
  auto event = *gpu_.CreateEvent();
  void* const first = *allocator.Allocate(4096, a_.get());
  ASSERT_THAT(Write(*a_, "producer", first, 4096), IsOk());
  ASSERT_THAT(a_->Record(event.get()), IsOk());
  ASSERT_THAT(b_->Wait(*event), IsOk());
  ASSERT_THAT(Write(*b_, "consumer", first, 4096), IsOk());
  allocator.AddUse(static_cast<char*>(first) + 100, b_.get());
  allocator.Free(first);
  void* const second = *allocator.Allocate(4096, a_.get());
  ASSERT_THAT(Write(*a_, "next", second, 4096), IsOk());
  EXPECT_THAT(gpu_.Races(), IsEmpty());
  allocator.Free(second);
}

TEST_F(GpuAllocatorTest, AChunkWithoutWaitIsPreferred) {
  GpuAllocator allocator(&gpu_, Growing(16 * kMiB));
  gpu_.Hang(a_.get());
  void* const mine = *allocator.Allocate(4096, a_.get());
  void* const keeps_apart = *allocator.Allocate(256, a_.get());
  allocator.Free(mine);
  void* const other = *allocator.Allocate(4096, b_.get());
  EXPECT_NE(mine, other);
  EXPECT_EQ(allocator.Stats().num_waits, 0);
  allocator.Free(other);
  allocator.Free(keeps_apart);
  gpu_.Release(a_.get());
}

TEST_F(GpuAllocatorTest, ALateUseDoesNotHoldUpItsNeighbours) {
  GpuAllocator allocator(&gpu_, {.limit = 4 * kMiB});
  gpu_.Hang(a_.get());
  void* const late = *allocator.Allocate(kMiB, a_.get());
  ASSERT_THAT(Write(*a_, "late", late, kMiB), IsOk());
  allocator.Free(late);
  void* const apart = *allocator.Allocate(2 * kMiB, b_.get());
  EXPECT_EQ(allocator.Stats().num_waits, 0);
  allocator.Free(apart);
  void* const whole = *allocator.Allocate(4 * kMiB, b_.get());  // belongs to both
  ASSERT_THAT(Write(*b_, "whole", whole, 4 * kMiB), IsOk());
  EXPECT_EQ(allocator.Stats().num_waits, 1);
  EXPECT_THAT(gpu_.Races(), IsEmpty());
  allocator.Free(whole);
  gpu_.Release(a_.get());
  EXPECT_EQ(allocator.CheckInvariants(), "");
}

TEST_F(GpuAllocatorTest, GrowsByDoublingUpToTheLimit) {
  GpuAllocator allocator(&gpu_, {.limit = 15 * kMiB, .allow_growth = true, .first_region = kMiB});
  std::vector<void*> blocks;
  std::vector<size_t> reserved;
  for (int i = 0; i < 14; ++i) {
    blocks.push_back(*allocator.Allocate(kMiB, a_.get()));
    reserved.push_back(allocator.Stats().bytes_reserved / kMiB);
  }
  EXPECT_EQ(reserved, (std::vector<size_t>{1, 3, 3, 7, 7, 7, 7, 15, 15, 15, 15, 15, 15, 15}));
  EXPECT_THAT(allocator.Allocate(2 * kMiB, a_.get()), StatusIs(absl::StatusCode::kResourceExhausted));
  for (void* block : blocks) allocator.Free(block);
}

TEST_F(GpuAllocatorTest, WithoutGrowthTakesTheLimitAtOnce) {
  GpuAllocator allocator(&gpu_, {.limit = 15 * kMiB});
  EXPECT_EQ(gpu_.bytes_allocated(), 0);
  allocator.Free(*allocator.Allocate(1, a_.get()));
  EXPECT_EQ(gpu_.bytes_allocated(), 15 * kMiB);
  EXPECT_EQ(allocator.Stats().num_regions, 1);
}

TEST_F(GpuAllocatorTest, TakesLessWhereTheDeviceHasLess) {
  GpuAllocator allocator(&gpu_, {.limit = 100 * kMiB});
  allocator.Free(*allocator.Allocate(kMiB, a_.get()));
  EXPECT_GT(allocator.Stats().bytes_reserved, 55 * kMiB);
  EXPECT_LE(allocator.Stats().bytes_reserved, 64 * kMiB);
}

TEST_F(GpuAllocatorTest, IdleRegionsGoBackBeforeMemoryIsRefused) {
  GpuAllocator allocator(&gpu_, {.limit = 16 * kMiB, .allow_growth = true, .first_region = 4 * kMiB});
  std::vector<void*> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(*allocator.Allocate(4 * kMiB, a_.get()));
  for (void* block : blocks) {
    ASSERT_THAT(Write(*a_, "small", block, 4 * kMiB), IsOk());
    allocator.Free(block);
  }
  ASSERT_OK_AND_ASSIGN(void* large, allocator.Allocate(16 * kMiB, b_.get()));
  ASSERT_THAT(Write(*b_, "large", large, 16 * kMiB), IsOk());
  EXPECT_THAT(b_->Synchronize(), IsOk());
  EXPECT_THAT(gpu_.Races(), IsEmpty());
  allocator.Free(large);
}

TEST_F(GpuAllocatorTest, OutOfMemoryNamesTheNodeAndTheLargestHolders) {
  GpuAllocator allocator(&gpu_, {.name = "GPU_3_bfc", .limit = 8 * kMiB});
  std::vector<void*> blocks;
  const auto take = [&](const char* node, size_t bytes) {
    GpuAllocationScope scope(node);
    blocks.push_back(*allocator.Allocate(bytes, a_.get()));
  };
  take("embedding/table", 4 * kMiB);
  take("dense/MatMul", kMiB);
  take("dense/MatMul", kMiB);
  take("tiny", 256);
  GpuAllocationScope scope("conv1/Conv2D");
  EXPECT_THAT(allocator.Allocate(3 * kMiB, a_.get()),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("GPU_3_bfc has no 3MiB for node 'conv1/Conv2D'"), HasSubstr("limit 8MiB"),
                             HasSubstr("largest holders: 'embedding/table' 4MiB in 1 blocks, 'dense/MatMul' 2MiB in 2 "
                                       "blocks, 'tiny' 256B in 1 blocks"))));
  EXPECT_THAT(allocator.LastFailure(), HasSubstr("conv1/Conv2D"));
  for (void* block : blocks) allocator.Free(block);
}

TEST_F(GpuAllocatorTest, FragmentationIsTold) {
  GpuAllocator allocator(&gpu_, {.limit = 4 * kMiB});
  void* blocks[4];
  for (void*& block : blocks) block = *allocator.Allocate(kMiB, a_.get());
  allocator.Free(blocks[0]);
  allocator.Free(blocks[2]);
  const GpuAllocatorStats stats = allocator.Stats();
  EXPECT_EQ(stats.largest_free_block, kMiB);
  EXPECT_DOUBLE_EQ(stats.fragmentation, 0.5);
  EXPECT_THAT(allocator.Allocate(2 * kMiB, a_.get()),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("enough is free, but not in one piece")));
  allocator.Free(blocks[1]);
  allocator.Free(blocks[3]);
  EXPECT_EQ(allocator.Stats().fragmentation, 0);
  EXPECT_EQ(allocator.Stats().peak_bytes_in_use, 4 * kMiB);
  EXPECT_EQ(allocator.Stats().bytes_in_use, 0);
}

TEST_F(GpuAllocatorTest, WaitsForMemoryThatAnotherThreadFrees) {
  GpuAllocator allocator(&gpu_, {.limit = kMiB});
  void* const held = *allocator.Allocate(kMiB, a_.get());
  std::thread other([&] {
    while (allocator.Stats().num_retries == 0) std::this_thread::yield();
    allocator.Free(held);
  });
  ASSERT_OK_AND_ASSIGN(void* data, allocator.Allocate(kMiB, a_.get(), MonotonicNow() + absl::Seconds(60)));
  other.join();
  allocator.Free(data);
  EXPECT_EQ(allocator.Stats().num_retries, 1);
}

TEST_F(GpuAllocatorTest, WaitsNoLongerThanAsked) {
  GpuAllocator allocator(&gpu_, {.limit = kMiB});
  void* const held = *allocator.Allocate(kMiB, a_.get());
  EXPECT_THAT(allocator.Allocate(kMiB, a_.get(), MonotonicNow() + absl::Milliseconds(20)),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(allocator.Allocate(2 * kMiB, a_.get(), absl::InfiniteFuture()),
              StatusIs(absl::StatusCode::kResourceExhausted));  // never
  allocator.Free(held);
}

TEST_F(GpuAllocatorTest, ABrokenDeviceIsNotOutOfMemory) {
  GpuAllocator allocator(&gpu_, Growing(16 * kMiB));
  void* const data = *allocator.Allocate(256, a_.get());
  gpu_.FailNextOperation(GpuError::kIllegalInstruction);
  ASSERT_THAT(Write(*a_, "victim", data, 256), IsOk());
  EXPECT_FALSE(a_->Synchronize().ok());
  EXPECT_EQ(GpuErrorOf(allocator.Allocate(8 * kMiB, a_.get()).status()), GpuError::kIllegalInstruction);
  allocator.Free(data);  // harmless
}

TEST_F(GpuAllocatorTest, NothingIsAllocatedForACapture) {
  GpuAllocator allocator(&gpu_, Growing(16 * kMiB));
  ASSERT_THAT(a_->BeginCapture(GpuCaptureMode::kThreadLocal), IsOk());
  EXPECT_THAT(allocator.Allocate(256, a_.get()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("captures")));
  EXPECT_THAT(a_->EndCapture(), IsOk());
}

TEST_F(GpuAllocatorTest, ACaptureHoldsUpNobodyElse) {
  GpuAllocator allocator(&gpu_, {.limit = 4 * kMiB, .allow_growth = true, .first_region = kMiB});
  void* const first = *allocator.Allocate(kMiB, a_.get());
  ASSERT_THAT(Write(*a_, "first", first, kMiB), IsOk());
  allocator.Free(first);
  ASSERT_THAT(a_->BeginCapture(GpuCaptureMode::kRelaxed), IsOk());
  ASSERT_OK_AND_ASSIGN(void* second, allocator.Allocate(kMiB, b_.get()));
  EXPECT_NE(first, second);
  ASSERT_THAT(Write(*b_, "second", second, kMiB), IsOk());
  EXPECT_THAT(allocator.Allocate(4 * kMiB, b_.get()), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(a_->EndCapture(), IsOk());
  EXPECT_THAT(gpu_.Races(), IsEmpty());
  allocator.Free(second);
}

TEST_F(GpuAllocatorTest, ABrokenDeviceIsNotOutOfMemoryForTheHostEither) {
  GpuAllocator pinned(&gpu_, {.name = "pinned", .memory = GpuAllocator::Memory::kPinned, .limit = 4096});
  void* const device = *gpu_.AllocateDevice(4096);
  void* const first = *pinned.Allocate(4096, nullptr);
  gpu_.Hang(a_.get());
  ASSERT_THAT(a_->CopyToDevice(device, first, 4096), IsOk());
  pinned.AddUse(first, a_.get());
  pinned.Free(first);
  std::thread breaker([&] {
    while (pinned.Stats().num_retries == 0) std::this_thread::yield();
    gpu_.FailNextOperation(GpuError::kIllegalAddress);
    gpu_.Release(a_.get());
  });
  const absl::Status status = pinned.Allocate(4096, nullptr, MonotonicNow() + absl::Seconds(60)).status();
  breaker.join();
  EXPECT_EQ(GpuErrorOf(status), GpuError::kIllegalAddress) << status;
}

TEST_F(GpuAllocatorTest, ManagedMemoryMayBeMoreThanTheDeviceHas) {
  SimulatedGpu small({.memory_bytes = kMiB});
  const auto stream = *small.CreateStream("stream");
  GpuAllocator allocator(&small, {.memory = GpuAllocator::Memory::kManaged, .limit = 3 * kMiB});
  ASSERT_OK_AND_ASSIGN(void* const all, allocator.Allocate(2 * kMiB, stream.get()));
  EXPECT_THAT(stream->Fill(all, 1, 2 * kMiB), IsOk());
  EXPECT_EQ(small.MemoryInfo()->free, kMiB);
  EXPECT_THAT(allocator.Allocate(2 * kMiB, stream.get()), StatusIs(absl::StatusCode::kResourceExhausted));
  allocator.Free(all);
  EXPECT_THAT(stream->Synchronize(), IsOk());
}

TEST_F(GpuAllocatorTest, HostileSizes) {
  GpuAllocator allocator(&gpu_, Growing(16 * kMiB));
  EXPECT_THAT(allocator.Allocate(SIZE_MAX, a_.get()), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(allocator.Allocate(SIZE_MAX - 255, a_.get()), StatusIs(absl::StatusCode::kResourceExhausted));
  ASSERT_OK_AND_ASSIGN(void* nothing, allocator.Allocate(0, a_.get()));
  EXPECT_NE(nothing, nullptr);
  allocator.Free(nothing);
  allocator.Free(nullptr);
  allocator.Free(&allocator);  // logged
}

TEST_F(GpuAllocatorTest, PinnedMemoryIsTheHostsWhenCopiesAreOver) {
  GpuAllocator pinned(&gpu_, {.name = "pinned", .memory = GpuAllocator::Memory::kPinned, .limit = 4096});
  void* const device = *gpu_.AllocateDevice(4096);
  gpu_.Hang(a_.get());
  void* const first = *pinned.Allocate(4096, nullptr);
  gpu_.HostAccess("fill", GpuAccess::Write(first, 4096));
  ASSERT_THAT(a_->CopyToDevice(device, first, 4096), IsOk());
  pinned.AddUse(first, a_.get());
  pinned.Free(first);
  EXPECT_THAT(pinned.Allocate(4096, nullptr), StatusIs(absl::StatusCode::kResourceExhausted));
  gpu_.Release(a_.get());
  ASSERT_OK_AND_ASSIGN(void* second, pinned.Allocate(4096, nullptr, MonotonicNow() + absl::Seconds(60)));
  EXPECT_EQ(first, second);
  gpu_.HostAccess("fill again", GpuAccess::Write(second, 4096));
  EXPECT_THAT(gpu_.Races(), IsEmpty());
  pinned.Free(second);
  EXPECT_THAT(gpu_.FreeDevice(device), IsOk());
}

TEST_F(GpuAllocatorTest, TensorsAreFreedInTheOrderOfTheirStream) {
  GpuAllocator allocator(&gpu_, {.name = "GPU_0_bfc", .limit = kMiB});
  GpuTensorAllocator tensors(&allocator, a_.get());
  {
    ASSERT_OK_AND_ASSIGN(Tensor t, Tensor::Allocate(&tensors, DT_FLOAT, TensorShape({100})));
    ASSERT_THAT(Write(*a_, "tensor", t.raw_data(), 400), IsOk());
    EXPECT_EQ(allocator.Stats().bytes_in_use, 512);
  }
  EXPECT_EQ(allocator.Stats().bytes_in_use, 0);
  EXPECT_THAT(Tensor::Allocate(&tensors, DT_FLOAT, TensorShape({1 << 20})),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("by allocator GPU_0_bfc")));
  EXPECT_THAT(Tensor::Allocate(&tensors, DT_STRING, TensorShape({1})), StatusIs(absl::StatusCode::kInvalidArgument));
}

// Random programs over several streams: each block keeps its owner's value until it is freed, and no two unordered
// operations touch the same memory.
struct PatternArgs {
  unsigned char* data;
  size_t bytes;
  unsigned char value;
  std::atomic<int>* mismatches;
};
constexpr GpuKernel kWritePattern = {.name = "write", .simulate = [](const void* raw) {
                                       const auto& args = *static_cast<const PatternArgs*>(raw);
                                       std::memset(args.data, args.value, args.bytes);
                                     }};
constexpr GpuKernel kCheckPattern = {.name = "check", .simulate = [](const void* raw) {
                                       const auto& args = *static_cast<const PatternArgs*>(raw);
                                       for (size_t i = 0; i < args.bytes; ++i) {
                                         if (args.data[i] == args.value) continue;
                                         ++*args.mismatches;
                                         return;
                                       }
                                     }};

class RandomPrograms : public testing::TestWithParam<std::tuple<SimulatedGpu::Schedule, int>> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms,
                         testing::Combine(testing::Values(SimulatedGpu::Schedule::kSeeded,
                                                          SimulatedGpu::Schedule::kThreads),
                                          testing::Range(0, 8)));

TEST_P(RandomPrograms, KeepOrder) {
  const auto [schedule, seed] = GetParam();
  SimulatedGpu gpu({.schedule = schedule, .seed = static_cast<uint64_t>(seed), .memory_bytes = 8 * kMiB});
  std::vector<std::unique_ptr<GpuStream>> streams;
  for (const char* name : {"compute", "to_host", "to_device"}) streams.push_back(*gpu.CreateStream(name));
  std::atomic<int> mismatches{0};
  {
    GpuAllocator allocator(&gpu, {.limit = kMiB, .allow_growth = seed % 2 == 0, .first_region = 64 << 10});
    struct Block {
      PatternArgs args;
      GpuStream* owner;
    };
    std::vector<Block> blocks;
    std::mt19937 random(seed);
    const auto any = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
    const auto free_one = [&] {
      const size_t i = any(blocks.size());
      allocator.Free(blocks[i].args.data);
      blocks[i] = blocks.back();
      blocks.pop_back();
    };
    for (int i = 0; i < 1500; ++i) {
      const size_t choice = any(10);
      GpuStream* const stream = streams[any(streams.size())].get();
      if (choice < 4 || blocks.empty()) {
        const size_t bytes = size_t{1} << any(17);
        absl::StatusOr<void*> data = allocator.Allocate(bytes, stream);
        if (!data.ok()) {
          ASSERT_THAT(data, StatusIs(absl::StatusCode::kResourceExhausted));
          ASSERT_FALSE(blocks.empty());
          free_one();
          continue;
        }
        const PatternArgs args{static_cast<unsigned char*>(*data), bytes, static_cast<unsigned char>(any(256)),
                               &mismatches};
        ASSERT_THAT(stream->LaunchWith(kWritePattern, args, {GpuAccess::Write(args.data, bytes)}), IsOk());
        blocks.push_back({args, stream});
      } else if (choice < 7) {
        Block& block = blocks[any(blocks.size())];
        if (stream != block.owner) {
          auto event = *gpu.CreateEvent();
          ASSERT_THAT(block.owner->Record(event.get()), IsOk());
          ASSERT_THAT(stream->Wait(*event), IsOk());
          allocator.AddUse(block.args.data, stream);
        }
        ASSERT_THAT(stream->LaunchWith(kCheckPattern, block.args, {GpuAccess::Read(block.args.data, block.args.bytes)}),
                    IsOk());
      } else if (choice < 9) {
        free_one();
      } else if (any(20) == 0) {
        allocator.ReleaseUnused();
      }
      if (i % 100 == 0) {
        ASSERT_EQ(allocator.CheckInvariants(), "");
      }
    }
    for (const Block& block : blocks) allocator.Free(block.args.data);
    EXPECT_EQ(allocator.CheckInvariants(), "");
    EXPECT_EQ(allocator.Stats().bytes_in_use, 0);
  }
  for (auto& stream : streams) EXPECT_THAT(stream->Synchronize(), IsOk());
  EXPECT_EQ(mismatches, 0);
  EXPECT_THAT(gpu.Races(), IsEmpty());
  EXPECT_EQ(gpu.num_allocations(), 0);
}

// Several host threads, each with its own stream.
TEST(GpuAllocatorThreadsTest, AllocateAndFreeTogether) {
  SimulatedGpu gpu({.schedule = SimulatedGpu::Schedule::kThreads, .memory_bytes = 8 * kMiB});
  std::vector<std::unique_ptr<GpuStream>> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(*gpu.CreateStream(absl::StrCat("stream ", i)));
  std::atomic<int> mismatches{0};
  GpuAllocator allocator(&gpu, {.limit = kMiB, .allow_growth = true});
  std::vector<std::thread> threads;
  for (auto& stream : streams) {
    threads.emplace_back([&, stream = stream.get()] {
      std::mt19937 random(reinterpret_cast<uintptr_t>(stream));
      for (int i = 0; i < 300; ++i) {
        const size_t bytes = 1 + random() % 100000;
        ASSERT_OK_AND_ASSIGN(void* data, allocator.Allocate(bytes, stream, MonotonicNow() + absl::Seconds(60)));
        const PatternArgs args{static_cast<unsigned char*>(data), bytes, static_cast<unsigned char>(random()),
                               &mismatches};
        ASSERT_THAT(stream->LaunchWith(kWritePattern, args, {GpuAccess::Write(data, bytes)}), IsOk());
        ASSERT_THAT(stream->LaunchWith(kCheckPattern, args, {GpuAccess::Read(data, bytes)}), IsOk());
        allocator.Free(data);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& stream : streams) EXPECT_THAT(stream->Synchronize(), IsOk());
  EXPECT_EQ(mismatches, 0);
  EXPECT_THAT(gpu.Races(), IsEmpty());
  EXPECT_EQ(allocator.CheckInvariants(), "");
}

}  // namespace
}  // namespace weir
