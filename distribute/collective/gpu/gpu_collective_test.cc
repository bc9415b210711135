#include "distribute/collective/gpu/gpu_collective.h"

#include <future>

#include "core/gpu/simulated_gpu.h"
#include "core/testing.h"
#include "distribute/collective/gpu/gpu_collective_testing.h"
#include "distribute/collective/gpu/simulated_gpu_collectives.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

// Simulated GPUs; checks them for races at the end.
class SimulatedGpuGroup : public GpuTestGroup {
 public:
  SimulatedGpuGroup(int size, SimulatedGpu::Schedule schedule)
      : SimulatedGpuGroup(MakeGpus(size, schedule), NewSimulatedGpuCollectives()) {}
  ~SimulatedGpuGroup() override {
    for (const auto& gpu : gpus_) {
      gpu->ReleaseStreams();
      EXPECT_THAT(gpu->Races(), IsEmpty());
    }
  }
  SimulatedGpu& gpu(int rank) { return *gpus_[rank]; }

 private:
  using Gpus = std::vector<std::shared_ptr<SimulatedGpu>>;
  SimulatedGpuGroup(const Gpus& gpus, std::shared_ptr<GpuCollectiveLibrary> library)
      : GpuTestGroup({gpus.begin(), gpus.end()}, std::move(library)), gpus_(gpus) {}
  static Gpus MakeGpus(int size, SimulatedGpu::Schedule schedule) {
    Gpus gpus;
    for (int i = 0; i < size; ++i) {
      gpus.push_back(std::make_shared<SimulatedGpu>(
          SimulatedGpu::Options{.schedule = schedule, .seed = static_cast<uint64_t>(i) + 1}));
    }
    return gpus;
  }

  const Gpus gpus_;
};

INSTANTIATE_TEST_SUITE_P(Gpus, CollectiveConformanceTest,
                         testing::Values(CollectiveBackend{.name = "SimulatedGpus",
                                                           .make_group =
                                                               [](int size) {
                                                                 return std::make_unique<SimulatedGpuGroup>(
                                                                     size, SimulatedGpu::Schedule::kSeeded);
                                                               },
                                                           .largest_group = 5},
                                         CollectiveBackend{.name = "ThreadedGpus",
                                                           .make_group =
                                                               [](int size) {
                                                                 return std::make_unique<SimulatedGpuGroup>(
                                                                     size, SimulatedGpu::Schedule::kThreads);
                                                               },
                                                           .largest_group = 4}),
                         BackendName);

// A call of all-reduce on each rank, and how it ended.
struct AllReduceCalls {
  AllReduceCalls(int size, int64_t count, int64_t sequence) : in(size), out(size), calls(size), ended(size) {
    for (int rank = 0; rank < size; ++rank) {
      in[rank].assign(count, static_cast<float>(rank + 1));
      out[rank].resize(count);
      calls[rank] = {.count = count, .input = in[rank].data(), .output = out[rank].data(), .sequence = sequence};
    }
  }
  void Start(SimulatedGpuGroup& group, int rank) {
    group.Start(rank, calls[rank], [this, rank](absl::Status status) { ended[rank].set_value(std::move(status)); });
  }
  absl::Status Status(int rank) { return ended[rank].get_future().get(); }

  std::vector<std::vector<float>> in, out;
  std::vector<CollectiveCall> calls;
  std::vector<std::promise<absl::Status>> ended;
};

class GpuCollectiveTest : public testing::TestWithParam<SimulatedGpu::Schedule> {
 protected:
  // An all-reduce of the whole group works.
  void ExpectWorks(SimulatedGpuGroup& group, int64_t sequence) {
    AllReduceCalls calls(group.size(), 100, sequence);
    EXPECT_THAT(group.Run(calls.calls), Each(IsOk()));
    const float sum = static_cast<float>(group.size() * (group.size() + 1)) / 2;
    for (const auto& out : calls.out) EXPECT_THAT(out, Each(sum));
  }
};
INSTANTIATE_TEST_SUITE_P(Schedules, GpuCollectiveTest,
                         testing::Values(SimulatedGpu::Schedule::kSeeded, SimulatedGpu::Schedule::kThreads));

TEST_P(GpuCollectiveTest, RanksMayCallInAnyOrder) {
  SimulatedGpuGroup group(3, GetParam());
  std::vector<std::unique_ptr<AllReduceCalls>> calls;
  for (int i = 0; i < 4; ++i) calls.push_back(std::make_unique<AllReduceCalls>(3, 10 * (i + 1), i));
  for (int rank = 0; rank < 3; ++rank) {
    for (int i = 0; i < 4; ++i) calls[(i * 3 + rank) % 4]->Start(group, rank);
  }
  for (auto& call : calls) {
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_THAT(call->Status(rank), IsOk());
      EXPECT_THAT(call->out[rank], Each(6.0f));
    }
  }
  EXPECT_EQ(group.member(0).broken(), 0);
}

TEST_P(GpuCollectiveTest, AMemberThatWasReleasedWhileIdleJoinsAgain) {
  SimulatedGpuGroup group(3, GetParam());
  ExpectWorks(group, 0);
  for (int rank = 0; rank < 3; ++rank) {
    group.Recreate(rank);
    ExpectWorks(group, rank + 1);
  }
}

TEST_P(GpuCollectiveTest, RanksThatDisagreeAreNamedOnEveryRank) {
  SimulatedGpuGroup group(3, GetParam());
  AllReduceCalls calls(3, 8, 1);
  calls.calls[2].count = 7;
  for (const absl::Status& status : group.Run(calls.calls)) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr("Shape mismatch"), HasSubstr("rank 2"), HasSubstr("[7]"))));
  }
  AllReduceCalls other(3, 8, 2);
  other.calls[1].dtype = DT_INT32;
  for (const absl::Status& status : group.Run(other.calls)) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal, AllOf(HasSubstr("rank 1"), HasSubstr("int32"))));
  }
  AllReduceCalls third(3, 8, 3);
  third.calls[1].reduction = Reduction::kMax;
  for (const absl::Status& status : group.Run(third.calls)) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal, AllOf(HasSubstr("rank 1"), HasSubstr("all-reduce Max"))));
  }
  ExpectWorks(group, 4);
}

TEST_P(GpuCollectiveTest, ARankThatFailsMidwayEndsTheOthersAndTheGroupGoesOn) {
  SimulatedGpuGroup group(3, GetParam());
  ExpectWorks(group, 1);
  group.gpu(2).HangStreams(GpuGroupMember::kStream);
  AllReduceCalls calls(3, 1000, 2);
  CancellationManager cancellation;
  calls.calls[2].cancellation = &cancellation;
  for (int rank = 0; rank < 3; ++rank) calls.Start(group, rank);
  while (!group.gpu(2).HoldsWork()) std::this_thread::yield();  // all have their turn: ranks 0 and 1 wait on the device
  cancellation.StartCancel(errors::DeadlineExceeded("rank 2 is too late"));
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(calls.Status(rank), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("rank 2 is too late")));
  }
  group.gpu(2).ReleaseStreams();
  ExpectWorks(group, 3);
  EXPECT_GT(group.member(0).broken(), 0);
}

TEST_P(GpuCollectiveTest, ADeviceThatBreaksMidwayIsAnErrorOfAll) {
  SimulatedGpuGroup group(2, GetParam());
  ExpectWorks(group, 1);
  AllReduceCalls calls(2, 1000, 2);
  group.gpu(1).HangStreams(GpuGroupMember::kStream);
  for (int rank = 0; rank < 2; ++rank) calls.Start(group, rank);
  while (!group.gpu(1).HoldsWork()) std::this_thread::yield();
  group.gpu(1).FailNextOperation(GpuError::kIllegalAddress);
  group.gpu(1).ReleaseStreams();
  const auto is_cause = StatusIs(absl::StatusCode::kInternal, HasSubstr("illegal memory access"));
  EXPECT_THAT(calls.Status(1), is_cause);
  // The other rank gets the cause, unless its own work fails first.
  EXPECT_THAT(calls.Status(0), AnyOf(is_cause, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("rank 1 of 2"))));
}

TEST_P(GpuCollectiveTest, RanksThatDoNotComeTogetherEndWithTheReason) {
  // A communicator of three ranks, one of which never joins.
  const auto library = NewSimulatedGpuCollectives();
  const auto gpu = std::make_shared<SimulatedGpu>(SimulatedGpu::Options{.schedule = GetParam()});
  const auto work_queue = WorkQueue::Create({.compute_threads = 1});
  ASSERT_OK_AND_ASSIGN(const auto device, GpuDevice::Create(gpu, work_queue.get(),
                                                            {.task = *DeviceName::Parse("/job:worker/replica:0/task:0"),
                                                             .config = {.memory_limit = 1 << 20}}));
  ASSERT_OK_AND_ASSIGN(const auto member, GpuGroupMember::Create({.device = device.get(),
                                                                  .library = library,
                                                                  .size = 3,
                                                                  .setup_limit = absl::Milliseconds(20),
                                                                  .reason_limit = absl::Milliseconds(20)}));
  ASSERT_OK_AND_ASSIGN(const GpuGroupMember::Turn turn, member->NextTurn(0));
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<GpuEvent> ready, gpu->CreateEvent());
  std::promise<absl::Status> ended;
  member->Run(turn, {GpuTransfer{}}, std::move(ready),
              [&](absl::Status status) { ended.set_value(std::move(status)); });
  EXPECT_THAT(ended.get_future().get(),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr("for all ranks to join"), HasSubstr("rank 0 of 3"), HasSubstr("GPU:0"))));
  EXPECT_EQ(member->broken(), turn.generation);
}

// Runs a hook when a rank first joins.
class InterruptedLibrary : public GpuCollectiveLibrary {
 public:
  const std::string& name() const override { return library_->name(); }
  absl::Status Serves(const GpuRuntime& gpu) const override { return library_->Serves(gpu); }
  std::string PlaceOf(const GpuRuntime& gpu) const override { return library_->PlaceOf(gpu); }
  absl::StatusOr<GpuCollectiveId> NewId() override { return library_->NewId(); }
  absl::StatusOr<std::unique_ptr<GpuCommunicator>> Connect(GpuRuntime& gpu, const GpuCollectiveId& id, int rank,
                                                           int size) override {
    if (const auto first = std::exchange(on_first_connect, nullptr); first != nullptr) first();
    return library_->Connect(gpu, id, rank, size);
  }

  std::function<void()> on_first_connect;

 private:
  const std::shared_ptr<GpuCollectiveLibrary> library_ = NewSimulatedGpuCollectives();
};

TEST_P(GpuCollectiveTest, AGenerationThatBeginsWhileTheFormerComesTogetherKeepsItsTurns) {
  const auto library = std::make_shared<InterruptedLibrary>();
  const auto gpu = std::make_shared<SimulatedGpu>(SimulatedGpu::Options{.schedule = GetParam()});
  const auto work_queue = WorkQueue::Create({.compute_threads = 1});
  ASSERT_OK_AND_ASSIGN(const auto device, GpuDevice::Create(gpu, work_queue.get(),
                                                            {.task = *DeviceName::Parse("/job:worker/replica:0/task:0"),
                                                             .config = {.memory_limit = 1 << 20}}));
  ASSERT_OK_AND_ASSIGN(const auto member, GpuGroupMember::Create({.device = device.get(), .library = library}));
  std::promise<absl::Status> former, next;
  const auto run = [&](const GpuGroupMember::Turn& turn, std::promise<absl::Status>& ended) {
    member->Run(turn, {GpuTransfer{}}, gpu->CreateEvent().value(),
                [&ended](absl::Status status) { ended.set_value(std::move(status)); });
  };
  ASSERT_OK_AND_ASSIGN(const GpuGroupMember::Turn turn, member->NextTurn(0));
  library->on_first_connect = [&] {
    member->Break(turn.generation, errors::Aborted("a rank has failed"));
    run(member->NextTurn(0).value(), next);
  };
  run(turn, former);
  EXPECT_THAT(former.get_future().get(), StatusIs(absl::StatusCode::kAborted, HasSubstr("a rank has failed")));
  EXPECT_THAT(next.get_future().get(), IsOk());
}

}  // namespace
}  // namespace weir
