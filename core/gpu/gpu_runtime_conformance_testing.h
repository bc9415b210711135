// The contract of every GpuRuntime. A runtime's test includes this header and instantiates
//   INSTANTIATE_TEST_SUITE_P(Cuda, GpuRuntimeConformance, testing::Values(GpuRuntimeWorld{...}));
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/gpu/affine_testing.h"
#include "core/gpu/gpu_error.h"
#include "core/gpu/gpu_runtime.h"
#include "core/testing.h"

namespace weir {

struct GpuRuntimeWorld {
  std::string name;
  // UNAVAILABLE, with the reason, if there is no such device: the tests are skipped.
  std::function<absl::StatusOr<std::unique_ptr<GpuRuntime>>()> make;
  GpuKernel affine;
};
inline void PrintTo(const GpuRuntimeWorld& world, std::ostream* os) { *os << world.name; }

class GpuRuntimeConformance : public testing::TestWithParam<GpuRuntimeWorld> {
 protected:
  static constexpr int kCount = 1000;
  static constexpr size_t kBytes = kCount * sizeof(float);

  void SetUp() override {
    auto runtime = GetParam().make();
    if (absl::IsUnavailable(runtime.status())) GTEST_SKIP() << runtime.status().message();
    ASSERT_THAT(runtime, IsOk());
    runtime_ = *std::move(runtime);
    a_ = Stream("a");
    b_ = Stream("b");
    device_ = static_cast<float*>(*runtime_->AllocateDevice(kBytes));
    pinned_ = static_cast<float*>(*runtime_->AllocatePinned(kBytes));
  }
  void TearDown() override {
    if (runtime_ == nullptr) return;
    a_->Synchronize(absl::InfiniteFuture()).IgnoreError();
    b_->Synchronize(absl::InfiniteFuture()).IgnoreError();
    runtime_->FreeDevice(device_).IgnoreError();
    runtime_->FreePinned(pinned_).IgnoreError();
    a_.reset();
    b_.reset();
  }

  std::unique_ptr<GpuStream> Stream(absl::string_view name) { return *runtime_->CreateStream(name); }
  std::unique_ptr<GpuEvent> Event() { return *runtime_->CreateEvent(); }
  absl::Status Affine(GpuStream& stream, float factor, float addend, int rounds = 1) {
    return stream.LaunchWith(GetParam().affine, AffineArgs{device_, kCount, factor, addend, rounds},
                             {GpuAccess::Write(device_, kBytes)});
  }
  // Enqueues zeros on `stream`.
  absl::Status Clear(GpuStream& stream) { return stream.Fill(device_, 0, kBytes); }
  // The value of all elements on the device, once `stream` is done.
  float Result(GpuStream& stream) {
    EXPECT_THAT(stream.CopyToHost(pinned_, device_, kBytes), IsOk());
    EXPECT_THAT(stream.Synchronize(absl::InfiniteFuture()), IsOk());
    runtime_->HostAccess("result", GpuAccess::Read(pinned_, kBytes));
    for (int i = 1; i < kCount; ++i) EXPECT_EQ(pinned_[i], pinned_[0]) << i;
    return pinned_[0];
  }
  static void ExpectError(const absl::Status& status, GpuError error) {
    EXPECT_EQ(GpuErrorOf(status), error) << status;
  }

  std::unique_ptr<GpuRuntime> runtime_;
  std::unique_ptr<GpuStream> a_, b_;
  float* device_ = nullptr;
  float* pinned_ = nullptr;
};

TEST_P(GpuRuntimeConformance, CopiesFillsAndKernelsRunInOrder) {
  runtime_->HostAccess("input", GpuAccess::Write(pinned_, kBytes));
  for (int i = 0; i < kCount; ++i) pinned_[i] = 2;
  ASSERT_THAT(a_->CopyToDevice(device_, pinned_, kBytes), IsOk());
  ASSERT_THAT(Affine(*a_, 10, 1), IsOk());
  EXPECT_EQ(Result(*a_), 21);
  ASSERT_THAT(Clear(*a_), IsOk());
  ASSERT_THAT(Affine(*a_, 10, 1), IsOk());
  EXPECT_EQ(Result(*a_), 1);
}

TEST_P(GpuRuntimeConformance, OneStreamWaitsForAnother) {
  for (int round = 0; round < 20; ++round) {
    auto first = Event(), second = Event();
    ASSERT_THAT(Clear(*a_), IsOk());
    ASSERT_THAT(Affine(*a_, 1, 3, 200), IsOk());
    ASSERT_THAT(a_->Record(first.get()), IsOk());
    ASSERT_THAT(b_->Wait(*first), IsOk());
    ASSERT_THAT(Affine(*b_, 2, 0), IsOk());
    ASSERT_THAT(b_->Record(second.get()), IsOk());
    ASSERT_THAT(a_->Wait(*second), IsOk());
    EXPECT_EQ(Result(*a_), 1200);
  }
}

TEST_P(GpuRuntimeConformance, APeersMemoryArrivesInOrder) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<GpuRuntime> peer, GetParam().make());
  ASSERT_TRUE(peer->Reaches(*runtime_));
  std::unique_ptr<GpuStream> stream = *peer->CreateStream("peer");
  auto* const theirs = static_cast<float*>(*peer->AllocateDevice(kBytes));
  ASSERT_THAT(Clear(*a_), IsOk());
  ASSERT_THAT(stream->Fill(theirs, 0, kBytes), IsOk());
  ASSERT_THAT(
      stream->LaunchWith(GetParam().affine, AffineArgs{theirs, kCount, 1, 3, 200}, {GpuAccess::Write(theirs, kBytes)}),
      IsOk());
  ASSERT_THAT(stream->CopyToPeer(a_.get(), device_, theirs, kBytes), IsOk());
  ASSERT_THAT(stream->Fill(theirs, 0, kBytes), IsOk());
  ASSERT_THAT(Affine(*a_, 2, 1), IsOk());
  EXPECT_THAT(stream->Synchronize(absl::InfiniteFuture()), IsOk());
  EXPECT_EQ(Result(*a_), 1201);
  EXPECT_THAT(peer->FreeDevice(theirs), IsOk());
  stream.reset();
}

TEST_P(GpuRuntimeConformance, AnEventWithoutRecordIsDone) {
  auto event = Event();
  EXPECT_TRUE(*event->IsDone());
  EXPECT_THAT(event->Synchronize(absl::InfiniteFuture()), IsOk());
  EXPECT_THAT(a_->Wait(*event), IsOk());
  EXPECT_TRUE(*a_->IsIdle());
}

TEST_P(GpuRuntimeConformance, AnEventIsDoneWithTheWorkBeforeIt) {
  auto event = Event();
  ASSERT_THAT(Clear(*a_), IsOk());
  ASSERT_THAT(Affine(*a_, 1, 1, 1000), IsOk());
  ASSERT_THAT(a_->Record(event.get()), IsOk());
  ASSERT_THAT(event->Synchronize(MonotonicNow() + absl::Seconds(30)), IsOk());
  EXPECT_TRUE(*event->IsDone());
  EXPECT_EQ(Result(*a_), 1000);
}

TEST_P(GpuRuntimeConformance, CallbacksRunInTheOrderOfTheStream) {
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) ASSERT_THAT(a_->Call([&order, i] { order.push_back(i); }), IsOk());
  ASSERT_THAT(a_->Synchronize(absl::InfiniteFuture()), IsOk());
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST_P(GpuRuntimeConformance, MemoryThatIsNotThereIsResourceExhausted) {
  EXPECT_THAT(runtime_->AllocateDevice(size_t{1} << 60), StatusIs(absl::StatusCode::kResourceExhausted));
  ASSERT_THAT(Clear(*a_), IsOk());  // the device is not broken
  EXPECT_EQ(Result(*a_), 0);
}

TEST_P(GpuRuntimeConformance, MemoryInfoFollowsAllocations) {
  const GpuMemoryInfo before = *runtime_->MemoryInfo();
  void* const data = *runtime_->AllocateDevice(size_t{64} << 20);
  const GpuMemoryInfo after = *runtime_->MemoryInfo();
  EXPECT_GE(before.free, after.free + (size_t{64} << 20));
  EXPECT_EQ(before.total, after.total);
  EXPECT_THAT(runtime_->FreeDevice(data), IsOk());
}

TEST_P(GpuRuntimeConformance, ManagedMemoryIsUsedAsTheDevices) {
  ASSERT_OK_AND_ASSIGN(void* const data, runtime_->AllocateManaged(kBytes));
  ASSERT_THAT(Clear(*a_), IsOk());
  EXPECT_THAT(a_->CopyOnDevice(data, device_, kBytes), IsOk());
  EXPECT_THAT(a_->Fill(data, 7, kBytes), IsOk());
  EXPECT_THAT(a_->Synchronize(), IsOk());
  EXPECT_THAT(runtime_->FreeDevice(data), IsOk());
  EXPECT_THAT(runtime_->AllocateManaged(0), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(GpuRuntimeConformance, ACapturedGraphRunsOnlyWhenItIsLaunched) {
  ASSERT_THAT(Clear(*a_), IsOk());
  ASSERT_THAT(a_->BeginCapture(GpuCaptureMode::kThreadLocal), IsOk());
  EXPECT_TRUE(a_->IsCapturing());
  ASSERT_THAT(Affine(*a_, 2, 1), IsOk());
  ASSERT_OK_AND_ASSIGN(auto graph, a_->EndCapture());
  EXPECT_FALSE(a_->IsCapturing());
  EXPECT_EQ(Result(*a_), 0);
  for (int i = 0; i < 3; ++i) ASSERT_THAT(a_->LaunchGraph(graph.get()), IsOk());
  EXPECT_EQ(Result(*a_), 7);
}

TEST_P(GpuRuntimeConformance, AStreamThatWaitsForACaptureJoinsIt) {
  auto fork = Event(), join = Event();
  ASSERT_THAT(Clear(*a_), IsOk());
  ASSERT_THAT(a_->BeginCapture(GpuCaptureMode::kRelaxed), IsOk());
  ASSERT_THAT(Affine(*a_, 1, 5), IsOk());
  ASSERT_THAT(a_->Record(fork.get()), IsOk());
  ASSERT_THAT(b_->Wait(*fork), IsOk());
  EXPECT_TRUE(b_->IsCapturing());
  ASSERT_THAT(Affine(*b_, 10, 0), IsOk());
  ASSERT_THAT(b_->Record(join.get()), IsOk());
  ASSERT_THAT(a_->Wait(*join), IsOk());
  ASSERT_THAT(Affine(*a_, 1, 1), IsOk());
  ASSERT_OK_AND_ASSIGN(auto graph, a_->EndCapture());
  EXPECT_FALSE(b_->IsCapturing());
  EXPECT_EQ(graph->num_operations(), 3);
  ASSERT_THAT(a_->LaunchGraph(graph.get()), IsOk());
  EXPECT_EQ(Result(*a_), 51);
}

TEST_P(GpuRuntimeConformance, WaitingIsRefusedDuringCapture) {
  ASSERT_THAT(a_->BeginCapture(GpuCaptureMode::kThreadLocal), IsOk());
  ExpectError(a_->Synchronize(absl::InfiniteFuture()), GpuError::kStreamCaptureUnsupported);
  ExpectError(a_->EndCapture().status(), GpuError::kStreamCaptureInvalidated);
  ASSERT_THAT(Clear(*a_), IsOk());  // the stream still works
  EXPECT_EQ(Result(*a_), 0);
}

TEST_P(GpuRuntimeConformance, AllocationIsRefusedDuringCapture) {
  ASSERT_THAT(a_->BeginCapture(GpuCaptureMode::kGlobal), IsOk());
  ExpectError(runtime_->AllocateDevice(256).status(), GpuError::kStreamCaptureUnsupported);
  ExpectError(a_->EndCapture().status(), GpuError::kStreamCaptureInvalidated);
}

TEST_P(GpuRuntimeConformance, OtherWorkIsWaitedForDuringCapture) {
  auto event = Event();
  ASSERT_THAT(Clear(*b_), IsOk());
  ASSERT_THAT(b_->Record(event.get()), IsOk());
  ASSERT_THAT(a_->BeginCapture(GpuCaptureMode::kGlobal), IsOk());
  const auto ask = [&] {
    EXPECT_THAT(event->Synchronize(MonotonicNow() + absl::Seconds(30)), IsOk());
    EXPECT_TRUE(*event->IsDone());
    EXPECT_THAT(b_->Synchronize(), IsOk());
    EXPECT_TRUE(*b_->IsIdle());
  };
  ask();
  std::thread(ask).join();
  EXPECT_THAT(a_->EndCapture(), IsOk());
}

TEST_P(GpuRuntimeConformance, AForkThatIsNotJoinedIsRefused) {
  auto fork = Event();
  ASSERT_THAT(Clear(*a_), IsOk());
  ASSERT_THAT(a_->BeginCapture(GpuCaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(a_->Record(fork.get()), IsOk());
  ASSERT_THAT(b_->Wait(*fork), IsOk());
  ASSERT_THAT(Affine(*b_, 1, 1), IsOk());
  ExpectError(a_->EndCapture().status(), GpuError::kStreamCaptureUnjoined);
  EXPECT_FALSE(b_->IsCapturing());
  EXPECT_EQ(Result(*a_), 0);
}

TEST_P(GpuRuntimeConformance, ACaptureEndsWhereItBegan) {
  auto fork = Event();
  ASSERT_THAT(a_->BeginCapture(GpuCaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(a_->Record(fork.get()), IsOk());
  ASSERT_THAT(b_->Wait(*fork), IsOk());
  ExpectError(b_->EndCapture().status(), GpuError::kStreamCaptureUnmatched);
  ExpectError(a_->EndCapture().status(), GpuError::kStreamCaptureInvalidated);
}

TEST_P(GpuRuntimeConformance, TwoCapturesDoNotMerge) {
  auto event = Event();
  ASSERT_THAT(a_->BeginCapture(GpuCaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(b_->BeginCapture(GpuCaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(a_->Record(event.get()), IsOk());
  ExpectError(b_->Wait(*event), GpuError::kStreamCaptureMerge);
  EXPECT_FALSE(b_->EndCapture().ok());
  a_->EndCapture().status().IgnoreError();
}

TEST_P(GpuRuntimeConformance, ACaptureWaitsForNothingOutsideOfIt) {
  auto event = Event();
  ASSERT_THAT(b_->Record(event.get()), IsOk());
  ASSERT_THAT(a_->BeginCapture(GpuCaptureMode::kThreadLocal), IsOk());
  ExpectError(a_->Wait(*event), GpuError::kStreamCaptureIsolation);
  EXPECT_FALSE(a_->EndCapture().ok());
}

TEST_P(GpuRuntimeConformance, AnEventOfACaptureCannotBeAskedFor) {
  auto event = Event();
  ASSERT_THAT(a_->BeginCapture(GpuCaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(a_->Record(event.get()), IsOk());
  ExpectError(event->IsDone().status(), GpuError::kCapturedEvent);
  EXPECT_FALSE(a_->EndCapture().ok());
}

TEST_P(GpuRuntimeConformance, CapturesThatWereNotBegunOrTwice) {
  EXPECT_FALSE(a_->EndCapture().ok());
  ASSERT_THAT(a_->BeginCapture(GpuCaptureMode::kThreadLocal), IsOk());
  ExpectError(a_->BeginCapture(GpuCaptureMode::kThreadLocal), GpuError::kIllegalState);
  a_->EndCapture().status().IgnoreError();
}

TEST_P(GpuRuntimeConformance, ATimerTellsHowLongAStreamTook) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<GpuTimer> timer, runtime_->CreateTimer());
  ASSERT_THAT(timer->Start(a_.get()), IsOk());
  ASSERT_THAT(Clear(*a_), IsOk());
  ASSERT_THAT(timer->Stop(a_.get()), IsOk());
  ASSERT_THAT(a_->Synchronize(), IsOk());
  ASSERT_OK_AND_ASSIGN(const std::optional<absl::Duration> elapsed, timer->Elapsed());
  ASSERT_TRUE(elapsed.has_value());
  EXPECT_GE(*elapsed, absl::ZeroDuration());
}

}  // namespace weir
