#include "worker/device_work.h"

#include <future>

#include "core/gpu/simulated_gpu.h"
#include "core/testing.h"
#include "worker/executor/executor_testing.h"
#include "worker/executor/node_kernel.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A simulated GPU that runs only while the test waits for it, and a plan whose nodes enqueue work there.
class DeviceWorkTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(device_, GpuDevice::Create(simulated_, work_queue_.get(),
                                                    {.task = *DeviceName::Parse("/job:worker/replica:0/task:3"),
                                                     .config = {.memory_limit = 1 << 20}}));
    ASSERT_OK_AND_ASSIGN(memory_, Tensor::Allocate(device_->allocator(), DT_FLOAT, TensorShape({8})));
    TestGraph graph;
    const Out x = graph.Arg(0, DT_FLOAT);
    graph.Add("Neg", {x}, {TestGraph::A("T", DT_FLOAT)}, {}, "minus");
    for (Node* node : graph.graph().nodes()) node->set_assigned_device(device_->name());
    Plan::Options options{.device = device_.get(), .is_function = true};
    options.kernels = [this](const Node& node) {
      return CreateNodeKernel(ExecutorTestKernels(), ExecutorTestOps(), node, device_.get(), nullptr);
    };
    ASSERT_OK_AND_ASSIGN(plan_, Plan::Compile(graph.Take(), options));
  }

  absl::Status EnqueueSomething() { return device_->compute().Fill(memory_.raw_data(), 1, memory_.TotalBytes()); }
  std::future<absl::Status> Await() {
    auto ended = std::make_shared<std::promise<absl::Status>>();
    AwaitDeviceWork(*device_, *plan_, cancellation_,
                    [ended](absl::Status status) { ended->set_value(std::move(status)); });
    return ended->get_future();
  }

  const std::shared_ptr<SimulatedGpu> simulated_ = std::make_shared<SimulatedGpu>(SimulatedGpu::Options());
  const std::unique_ptr<WorkQueue> work_queue_ = WorkQueue::Create({.compute_threads = 1});
  std::unique_ptr<GpuDevice> device_;
  Tensor memory_;
  std::shared_ptr<const Plan> plan_;
  CancellationManager cancellation_;
};

TEST_F(DeviceWorkTest, EndsWhenTheStreamIsThrough) {
  ASSERT_THAT(EnqueueSomething(), IsOk());
  EXPECT_THAT(Await().get(), IsOk());
  ASSERT_OK_AND_ASSIGN(const bool is_idle, device_->compute().IsIdle());
  EXPECT_TRUE(is_idle);
}

TEST_F(DeviceWorkTest, AFailureNamesTheNodesThatEnqueueWorkAndTheDevice) {
  simulated_->FailNextOperation(GpuError::kIllegalAddress);
  ASSERT_THAT(EnqueueSomething(), IsOk());
  EXPECT_THAT(Await().get(), StatusIs(absl::StatusCode::kInternal,
                                      AllOf(HasSubstr("illegal memory access"), HasSubstr("{{node minus}}"),
                                            HasSubstr("/job:worker/replica:0/task:3/device:GPU:0"))));
}

TEST_F(DeviceWorkTest, ACancelledStepDoesNotWaitForADeviceThatHangs) {
  simulated_->Hang(&device_->compute());
  ASSERT_THAT(EnqueueSomething(), IsOk());
  std::future<absl::Status> ended = Await();
  cancellation_.StartCancel(errors::DeadlineExceeded("too late"));
  EXPECT_THAT(ended.get(), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("too late")));
  simulated_->Release(&device_->compute());
}

TEST_F(DeviceWorkTest, AStepThatIsCancelledBeforeEndsAtOnce) {
  cancellation_.StartCancel(errors::Cancelled("no more"));
  EXPECT_THAT(Await().get(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("no more")));
}

}  // namespace
}  // namespace weir
