#include "core/gpu/gpu_completion_queue.h"

#include <future>

#include "core/gpu/simulated_gpu.h"
#include "core/testing.h"

namespace weir {
namespace {

using testing::HasSubstr;

class GpuCompletionQueueTest : public testing::TestWithParam<SimulatedGpu::Schedule> {
 protected:
  absl::Status Work() { return stream_->Fill(data_, 7, 256); }
  std::future<absl::Status> Then(GpuCompletionQueue& queue) {
    auto promise = std::make_shared<std::promise<absl::Status>>();
    queue.Then(stream_.get(), [promise](absl::Status status) { promise->set_value(std::move(status)); });
    return promise->get_future();
  }

  SimulatedGpu gpu_{{.schedule = GetParam()}};
  std::unique_ptr<GpuStream> stream_ = *gpu_.CreateStream("compute");
  void* data_ = *gpu_.AllocateDevice(256);
};
INSTANTIATE_TEST_SUITE_P(Schedules, GpuCompletionQueueTest,
                         testing::Values(SimulatedGpu::Schedule::kSeeded, SimulatedGpu::Schedule::kThreads));

TEST_P(GpuCompletionQueueTest, CallsWhenTheWorkIsDone) {
  GpuCompletionQueue queue({});
  for (int i = 0; i < 50; ++i) {
    ASSERT_THAT(Work(), IsOk());
    EXPECT_THAT(Then(queue).get(), IsOk());
    EXPECT_TRUE(*stream_->IsIdle());
  }
}

TEST_P(GpuCompletionQueueTest, AnErrorOfTheDeviceReachesEveryCallback) {
  GpuCompletionQueue queue({});
  gpu_.Hang(stream_.get());
  ASSERT_THAT(Work(), IsOk());
  auto first = Then(queue), second = Then(queue);
  gpu_.FailNextOperation(GpuError::kLaunchFailure);
  gpu_.Release(stream_.get());
  EXPECT_EQ(GpuErrorOf(first.get()), GpuError::kLaunchFailure);
  EXPECT_EQ(GpuErrorOf(second.get()), GpuError::kLaunchFailure);
  EXPECT_EQ(GpuErrorOf(Then(queue).get()), GpuError::kLaunchFailure);
}

TEST_P(GpuCompletionQueueTest, AHungStreamIsAnErrorInTime) {
  GpuCompletionQueue queue({.patience = absl::Milliseconds(30)});
  gpu_.Hang(stream_.get());
  ASSERT_THAT(Work(), IsOk());
  EXPECT_THAT(Then(queue).get(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("Stream 'compute' of Simulated GPU")));
  gpu_.Release(stream_.get());
}

TEST_P(GpuCompletionQueueTest, DestructionWaitsForWhatIsPending) {
  std::future<absl::Status> done;
  {
    GpuCompletionQueue queue({});
    ASSERT_THAT(Work(), IsOk());
    done = Then(queue);
  }
  EXPECT_EQ(done.wait_for(std::chrono::seconds(0)), std::future_status::ready);
}

}  // namespace
}  // namespace weir
