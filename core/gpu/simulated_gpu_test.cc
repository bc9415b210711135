#include "core/gpu/simulated_gpu.h"

#include <thread>

#include "core/clock.h"
#include "core/gpu/gpu_runtime_conformance_testing.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void SimulateAffine(const void* raw) {
  const auto& args = *static_cast<const AffineArgs*>(raw);
  for (int64_t i = 0; i < args.count; ++i) {
    for (int round = 0; round < args.rounds; ++round) args.data[i] = args.data[i] * args.factor + args.addend;
  }
}
constexpr GpuKernel kAffine = {.name = "affine", .simulate = SimulateAffine};

GpuRuntimeWorld World(std::string name, SimulatedGpu::Options options) {
  return {name, [options] { return std::make_unique<SimulatedGpu>(options); }, kAffine};
}
INSTANTIATE_TEST_SUITE_P(Simulated, GpuRuntimeConformance,
                         testing::Values(World("Seed1", {.seed = 1}), World("Seed2", {.seed = 2}),
                                         World("Threads", {.schedule = SimulatedGpu::Schedule::kThreads})),
                         [](const auto& info) { return info.param.name; });

class SimulatedGpuTest : public testing::Test {
 protected:
  static constexpr size_t kBytes = 256;

  explicit SimulatedGpuTest(SimulatedGpu::Options options = {}) : gpu_(options) {
    a_ = *gpu_.CreateStream("a");
    b_ = *gpu_.CreateStream("b");
    x_ = *gpu_.AllocateDevice(kBytes);
    y_ = *gpu_.AllocateDevice(kBytes);
    host_ = *gpu_.AllocatePinned(kBytes);
    event_ = *gpu_.CreateEvent();
  }

  absl::Status Launch(GpuStream& stream, const char* name, std::vector<GpuAccess> accesses) {
    return stream.Launch({.name = name, .simulate = [](const void*) {}}, {}, accesses);
  }
  absl::Status Write(GpuStream& stream, const char* name, void* data) {
    return Launch(stream, name, {GpuAccess::Write(data, kBytes)});
  }
  absl::Status Read(GpuStream& stream, const char* name, void* data) {
    return Launch(stream, name, {GpuAccess::Read(data, kBytes)});
  }

  SimulatedGpu gpu_;
  std::unique_ptr<GpuStream> a_, b_;
  std::unique_ptr<GpuEvent> event_;
  void *x_, *y_, *host_;
};

TEST_F(SimulatedGpuTest, AMissingWaitIsARaceThatNamesBothOperations) {
  ASSERT_THAT(Write(*a_, "producer", x_), IsOk());
  ASSERT_THAT(Read(*b_, "consumer", x_), IsOk());
  EXPECT_THAT(gpu_.Races(),
              ElementsAre(AllOf(HasSubstr("write by 'producer' (a, "), HasSubstr("read by 'consumer' (b, "),
                                HasSubstr("neither waits for the other"))));
}

TEST_F(SimulatedGpuTest, AnEventMakesAnOrder) {
  ASSERT_THAT(Write(*a_, "producer", x_), IsOk());
  ASSERT_THAT(a_->Record(event_.get()), IsOk());
  ASSERT_THAT(b_->Wait(*event_), IsOk());
  ASSERT_THAT(Read(*b_, "consumer", x_), IsOk());
  EXPECT_THAT(gpu_.Races(), IsEmpty());
}

TEST_F(SimulatedGpuTest, AnEventThatWasRecordedTooEarlyMakesNone) {
  ASSERT_THAT(a_->Record(event_.get()), IsOk());
  ASSERT_THAT(Write(*a_, "producer", x_), IsOk());
  ASSERT_THAT(b_->Wait(*event_), IsOk());
  ASSERT_THAT(Read(*b_, "consumer", x_), IsOk());
  EXPECT_EQ(gpu_.Races().size(), 1);
}

TEST_F(SimulatedGpuTest, AWaitIsForTheRecordBeforeIt) {
  ASSERT_THAT(Write(*a_, "first", x_), IsOk());
  ASSERT_THAT(a_->Record(event_.get()), IsOk());
  ASSERT_THAT(b_->Wait(*event_), IsOk());
  ASSERT_THAT(Write(*a_, "second", y_), IsOk());
  ASSERT_THAT(a_->Record(event_.get()), IsOk());
  ASSERT_THAT(Read(*b_, "reader of first", x_), IsOk());
  EXPECT_THAT(gpu_.Races(), IsEmpty());
  ASSERT_THAT(Read(*b_, "reader of second", y_), IsOk());
  EXPECT_THAT(gpu_.Races(), ElementsAre(HasSubstr("'second'")));
}

TEST_F(SimulatedGpuTest, ReadersNeedNoOrderAmongEachOtherButTheNextWriterDoes) {
  ASSERT_THAT(Write(*a_, "producer", x_), IsOk());
  ASSERT_THAT(a_->Record(event_.get()), IsOk());
  ASSERT_THAT(b_->Wait(*event_), IsOk());
  ASSERT_THAT(Read(*a_, "one", x_), IsOk());
  ASSERT_THAT(Read(*b_, "two", x_), IsOk());
  EXPECT_THAT(gpu_.Races(), IsEmpty());
  ASSERT_THAT(Write(*a_, "overwriter", x_), IsOk());
  EXPECT_THAT(gpu_.Races(), ElementsAre(AllOf(HasSubstr("read by 'two'"), HasSubstr("write by 'overwriter'"))));
}

TEST_F(SimulatedGpuTest, OnlyBytesThatBothTouchCount) {
  char* const bytes = static_cast<char*>(x_);
  ASSERT_THAT(Launch(*a_, "low", {GpuAccess::Write(bytes, 100)}), IsOk());
  ASSERT_THAT(Launch(*b_, "high", {GpuAccess::Write(bytes + 100, 100)}), IsOk());
  EXPECT_THAT(gpu_.Races(), IsEmpty());
  ASSERT_THAT(Launch(*b_, "both", {GpuAccess::Read(bytes + 90, 20)}), IsOk());
  EXPECT_THAT(gpu_.Races(), ElementsAre(AllOf(HasSubstr("'low'"), HasSubstr("'both'"), HasSubstr("10 bytes"))));
}

TEST_F(SimulatedGpuTest, TheHostWaitsToo) {
  ASSERT_THAT(a_->CopyToHost(host_, x_, kBytes), IsOk());
  gpu_.HostAccess("too early", GpuAccess::Read(host_, kBytes));
  EXPECT_THAT(gpu_.Races(), ElementsAre(AllOf(HasSubstr("write by 'copy to host'"), HasSubstr("'too early' (host"))));
  ASSERT_THAT(a_->Synchronize(), IsOk());
  gpu_.HostAccess("in time", GpuAccess::Write(host_, kBytes));
  EXPECT_EQ(gpu_.Races().size(), 1);
}

TEST_F(SimulatedGpuTest, WhatTheHostDidBeforeIsBeforeAndWhatItDoesAfterIsNot) {
  gpu_.HostAccess("input", GpuAccess::Write(host_, kBytes));
  ASSERT_THAT(a_->CopyToDevice(x_, host_, kBytes), IsOk());
  EXPECT_THAT(gpu_.Races(), IsEmpty());
  gpu_.HostAccess("next input", GpuAccess::Write(host_, kBytes));
  EXPECT_THAT(gpu_.Races(), ElementsAre(AllOf(HasSubstr("'copy to device'"), HasSubstr("'next input'"))));
}

TEST_F(SimulatedGpuTest, ACallbackIsPartOfItsStream) {
  ASSERT_THAT(a_->CopyToHost(host_, x_, kBytes), IsOk());
  ASSERT_THAT(a_->Call([this] { gpu_.HostAccess("callback", GpuAccess::Write(host_, kBytes)); }), IsOk());
  ASSERT_THAT(a_->CopyToDevice(x_, host_, kBytes), IsOk());
  ASSERT_THAT(a_->Synchronize(), IsOk());
  EXPECT_THAT(gpu_.Races(), IsEmpty());
  ASSERT_THAT(b_->Call([this] { gpu_.HostAccess("stranger", GpuAccess::Write(host_, kBytes)); }), IsOk());
  ASSERT_THAT(b_->Synchronize(), IsOk());
  EXPECT_THAT(gpu_.Races(), IsEmpty());  // the host had waited for a
  ASSERT_THAT(a_->CopyToHost(host_, x_, kBytes), IsOk());
  ASSERT_THAT(b_->Call([this] { gpu_.HostAccess("racer", GpuAccess::Read(host_, kBytes)); }), IsOk());
  ASSERT_THAT(b_->Synchronize(), IsOk());
  EXPECT_THAT(gpu_.Races(), ElementsAre(AllOf(HasSubstr("'copy to host'"), HasSubstr("'callback' (b"))));
}

TEST_F(SimulatedGpuTest, GraphsAreCheckedWithinAndAmongOthers) {
  auto fork = *gpu_.CreateEvent(), join = *gpu_.CreateEvent();
  ASSERT_THAT(a_->BeginCapture(GpuCaptureMode::kRelaxed), IsOk());
  ASSERT_THAT(a_->Record(fork.get()), IsOk());
  ASSERT_THAT(b_->Wait(*fork), IsOk());
  ASSERT_THAT(Write(*a_, "left", x_), IsOk());
  ASSERT_THAT(Write(*b_, "right", y_), IsOk());
  ASSERT_THAT(b_->Record(join.get()), IsOk());
  ASSERT_THAT(a_->Wait(*join), IsOk());
  ASSERT_THAT(Launch(*a_, "both", {GpuAccess::Read(x_, kBytes), GpuAccess::Read(y_, kBytes)}), IsOk());
  ASSERT_OK_AND_ASSIGN(auto graph, a_->EndCapture());
  for (int i = 0; i < 3; ++i) ASSERT_THAT(a_->LaunchGraph(graph.get()), IsOk());
  ASSERT_THAT(Read(*a_, "after", y_), IsOk());
  EXPECT_THAT(gpu_.Races(), IsEmpty());
  ASSERT_THAT(Read(*b_, "elsewhere", y_), IsOk());
  EXPECT_THAT(gpu_.Races(), ElementsAre(AllOf(HasSubstr("'right' (captured b"), HasSubstr("'elsewhere' (b"))));
}

TEST_F(SimulatedGpuTest, AGraphWithAMissingDependencyIsARaceWhenItRuns) {
  auto fork = *gpu_.CreateEvent(), join = *gpu_.CreateEvent();
  ASSERT_THAT(a_->BeginCapture(GpuCaptureMode::kRelaxed), IsOk());
  ASSERT_THAT(a_->Record(fork.get()), IsOk());
  ASSERT_THAT(b_->Wait(*fork), IsOk());
  ASSERT_THAT(Write(*a_, "left", x_), IsOk());
  ASSERT_THAT(Write(*b_, "right", x_), IsOk());
  ASSERT_THAT(b_->Record(join.get()), IsOk());
  ASSERT_THAT(a_->Wait(*join), IsOk());
  ASSERT_OK_AND_ASSIGN(auto graph, a_->EndCapture());
  EXPECT_THAT(gpu_.Races(), IsEmpty());
  ASSERT_THAT(a_->LaunchGraph(graph.get()), IsOk());
  EXPECT_THAT(gpu_.Races(), ElementsAre(AllOf(HasSubstr("'left'"), HasSubstr("'right'"))));
}

TEST_F(SimulatedGpuTest, MemoryThatIsFreedWhileAnOperationUsesItBreaksTheDevice) {
  void* const short_lived = *gpu_.AllocateDevice(kBytes);
  ASSERT_THAT(gpu_.FreeDevice(short_lived), IsOk());
  ASSERT_THAT(Write(*a_, "late", short_lived), IsOk());
  EXPECT_THAT(a_->Synchronize(),
              StatusIs(absl::StatusCode::kInternal, AllOf(HasSubstr("cudaErrorIllegalAddress"), HasSubstr("late"))));
  EXPECT_EQ(GpuErrorOf(gpu_.AllocateDevice(1).status()), GpuError::kIllegalAddress);  // sticky
  EXPECT_EQ(GpuErrorOf(b_->Record(event_.get())), GpuError::kIllegalAddress);
}

TEST_F(SimulatedGpuTest, AnOperationThatReachesBeyondItsMemoryBreaksTheDevice) {
  ASSERT_THAT(Launch(*a_, "long", {GpuAccess::Read(x_, kBytes + 1)}), IsOk());
  EXPECT_EQ(GpuErrorOf(a_->Synchronize()), GpuError::kIllegalAddress);
}

TEST_F(SimulatedGpuTest, InjectedErrorsAreSticky) {
  gpu_.FailNextOperation(GpuError::kEccUncorrectable);
  bool called = false;
  ASSERT_THAT(Write(*a_, "victim", x_), IsOk());
  a_->Call([&called] { called = true; }).IgnoreError();  // the operation may have run already
  EXPECT_EQ(GpuErrorOf(a_->Synchronize()), GpuError::kEccUncorrectable);
  EXPECT_EQ(GpuErrorOf(gpu_.MemoryInfo().status()), GpuError::kEccUncorrectable);
  EXPECT_FALSE(called);
}

TEST_F(SimulatedGpuTest, InjectedAllocationFailuresAreNot) {
  gpu_.FailAllocations(2);
  EXPECT_EQ(GpuErrorOf(gpu_.AllocateDevice(1).status()), GpuError::kMemoryAllocation);
  EXPECT_EQ(GpuErrorOf(gpu_.AllocatePinned(1).status()), GpuError::kMemoryAllocation);
  ASSERT_OK_AND_ASSIGN(void* data, gpu_.AllocateDevice(1));
  EXPECT_THAT(gpu_.FreeDevice(data), IsOk());
}

TEST_F(SimulatedGpuTest, AHungStreamIsNamed) {
  gpu_.Hang(a_.get());
  ASSERT_THAT(Write(*a_, "stuck", x_), IsOk());
  ASSERT_THAT(a_->Record(event_.get()), IsOk());
  ASSERT_THAT(b_->Wait(*event_), IsOk());
  EXPECT_THAT(b_->Synchronize(), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                          AllOf(HasSubstr("stream 'a' hangs"), HasSubstr("'stuck'"))));
  EXPECT_THAT(event_->Synchronize(MonotonicNow() + absl::Milliseconds(5)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  gpu_.Release(a_.get());
  EXPECT_THAT(b_->Synchronize(), IsOk());
}

TEST_F(SimulatedGpuTest, CallbacksMayNotCallTheRuntime) {
  absl::Status status;
  ASSERT_THAT(a_->Call([&] { status = b_->Record(event_.get()); }), IsOk());
  ASSERT_THAT(a_->Synchronize(), IsOk());
  EXPECT_EQ(GpuErrorOf(status), GpuError::kNotPermitted);
}

TEST_F(SimulatedGpuTest, CopiesNeedPinnedMemory) {
  char pageable[kBytes] = {};
  EXPECT_THAT(a_->CopyToDevice(x_, pageable, kBytes),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not allocated as pinned memory")));
  EXPECT_THAT(a_->CopyToHost(x_, y_, kBytes), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(a_->CopyOnDevice(x_, host_, kBytes), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(SimulatedGpuTest, ACaptureOfAnotherThread) {
  ASSERT_THAT(a_->BeginCapture(GpuCaptureMode::kThreadLocal), IsOk());
  std::thread([this] {
    ASSERT_OK_AND_ASSIGN(void* data, gpu_.AllocateDevice(1));  // only global captures forbid it
    EXPECT_THAT(gpu_.FreeDevice(data), IsOk());
    EXPECT_EQ(GpuErrorOf(a_->EndCapture().status()), GpuError::kStreamCaptureWrongThread);
  }).join();
  EXPECT_THAT(a_->EndCapture(), IsOk());
}

TEST_F(SimulatedGpuTest, ThingsOfOtherDevicesAreRefused) {
  SimulatedGpu other({});
  auto event = *other.CreateEvent();
  EXPECT_EQ(GpuErrorOf(a_->Record(event.get())), GpuError::kInvalidResourceHandle);
  EXPECT_EQ(GpuErrorOf(a_->Wait(*event)), GpuError::kInvalidResourceHandle);
}

// The same calls run in another order with another seed, and in the same order with the same seed.
TEST(SimulatedScheduleTest, TheSeedChoosesTheOrder) {
  const auto order = [](uint64_t seed) {
    SimulatedGpu gpu({.seed = seed});
    std::vector<std::unique_ptr<GpuStream>> streams;
    std::string order;
    for (char name : {'a', 'b', 'c'}) streams.push_back(*gpu.CreateStream(std::string(1, name)));
    for (int i = 0; i < 5; ++i) {
      for (auto& stream : streams) EXPECT_THAT(stream->Call([&, s = stream.get()] { order += s->name(); }), IsOk());
    }
    for (auto& stream : streams) EXPECT_THAT(stream->Synchronize(), IsOk());
    return order;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

}  // namespace
}  // namespace weir
