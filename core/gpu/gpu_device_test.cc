#include "core/gpu/gpu_device.h"

#include <future>

#include "core/gpu/simulated_gpu.h"
#include "core/testing.h"
#include "tensorflow/core/framework/device_attributes.pb.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr size_t kMiB = size_t{1} << 20;

class GpuDeviceTest : public testing::TestWithParam<SimulatedGpu::Schedule> {
 protected:
  GpuDeviceTest() {
    gpu_ = std::make_shared<SimulatedGpu>(
        SimulatedGpu::Options{.schedule = GetParam(), .memory_bytes = 64 * kMiB, .name = "Simulated H100"});
    work_queue_ = WorkQueue::Create({.compute_threads = 1});
    device_ = *GpuDevice::Create(gpu_, work_queue_.get(),
                                 {.task = *DeviceName::Parse("/job:worker/replica:0/task:1"),
                                  .id = 2,
                                  .config = {.physical_id = 5, .memory_limit = 8 * kMiB, .allow_growth = true},
                                  .retry_for = absl::ZeroDuration(),
                                  .completions = {.patience = absl::Seconds(60)}});
  }

  static absl::StatusOr<Tensor> Fetch(GpuDevice& device, const Tensor& tensor) {
    auto promise = std::make_shared<std::promise<absl::StatusOr<Tensor>>>();
    device.ToHost(tensor, [promise](absl::StatusOr<Tensor> host) { promise->set_value(std::move(host)); });
    return promise->get_future().get();
  }
  // Adds 1 to floats.
  absl::Status Increment(const Tensor& tensor) {
    struct Args {
      float* data;
      int64_t count;
    };
    const GpuKernel kernel = {.name = "increment", .simulate = [](const void* raw) {
                                const auto& args = *static_cast<const Args*>(raw);
                                for (int64_t i = 0; i < args.count; ++i) ++args.data[i];
                              }};
    return device_->compute().LaunchWith(
        kernel, Args{static_cast<float*>(tensor.raw_data()), tensor.NumElements()},
        {GpuAccess::Write(tensor.raw_data(), static_cast<size_t>(tensor.TotalBytes()))});
  }

  std::shared_ptr<SimulatedGpu> gpu_;
  std::unique_ptr<WorkQueue> work_queue_;
  std::unique_ptr<GpuDevice> device_;
};
INSTANTIATE_TEST_SUITE_P(Schedules, GpuDeviceTest,
                         testing::Values(SimulatedGpu::Schedule::kSeeded, SimulatedGpu::Schedule::kThreads));

TEST_P(GpuDeviceTest, AttributesAreTensorFlows) {
  tensorflow::DeviceAttributes attributes;
  device_->ToProto(&attributes);
  EXPECT_EQ(attributes.name(), "/job:worker/replica:0/task:1/device:GPU:2");
  EXPECT_EQ(attributes.device_type(), "GPU");
  EXPECT_EQ(attributes.memory_limit(), 8 * kMiB);
  EXPECT_NE(attributes.incarnation(), 0);
  EXPECT_EQ(attributes.physical_device_desc(),
            "device: 5, name: Simulated H100, pci bus id: 0000:00:00.0, compute capability: 9.0");
  EXPECT_EQ(attributes.locality().bus_id(), 1);
}

TEST_P(GpuDeviceTest, TensorsGoThereAreComputedWithAndComeBack) {
  for (int round = 0; round < 20; ++round) {
    Tensor input = AsTensor<float>({1, 2, 3});
    ASSERT_OK_AND_ASSIGN(Tensor device, device_->ToDevice(input));
    input.data<float>()[0] = 100;  // ToDevice has copied it already
    ASSERT_THAT(Increment(device), IsOk());
    ASSERT_OK_AND_ASSIGN(Tensor output, Fetch(*device_, device));
    ExpectTensorEqual(output, AsTensor<float>({2, 3, 4}));
  }
  EXPECT_THAT(gpu_->Races(), IsEmpty());
  EXPECT_EQ(device_->memory().Stats().bytes_in_use, 0);
}

TEST_P(GpuDeviceTest, ATensorMayBeDroppedWhileItIsCopied) {
  std::vector<std::future<absl::StatusOr<Tensor>>> outputs;
  for (int i = 0; i < 50; ++i) {
    ASSERT_OK_AND_ASSIGN(Tensor device, device_->ToDevice(Tensor(DT_FLOAT, TensorShape({10000}))));
    ASSERT_THAT(Increment(device), IsOk());
    auto promise = std::make_shared<std::promise<absl::StatusOr<Tensor>>>();
    device_->ToHost(device, [promise](absl::StatusOr<Tensor> host) { promise->set_value(std::move(host)); });
    outputs.push_back(promise->get_future());
  }
  for (auto& output : outputs) EXPECT_THAT(output.get(), IsOk());
  EXPECT_THAT(gpu_->Races(), IsEmpty());
}

TEST_P(GpuDeviceTest, NobodyWritesInPlaceWhatIsBeingCopied) {
  ASSERT_OK_AND_ASSIGN(Tensor device, device_->ToDevice(AsTensor<float>({1, 2})));
  gpu_->Hang(&device_->compute());
  auto promise = std::make_shared<std::promise<absl::StatusOr<Tensor>>>();
  device_->ToHost(device, [promise](absl::StatusOr<Tensor> host) { promise->set_value(std::move(host)); });
  EXPECT_FALSE(device.RefCountIsOne());
  gpu_->Release(&device_->compute());
  EXPECT_THAT(promise->get_future().get(), IsOk());
  EXPECT_TRUE(device.RefCountIsOne());
}

TEST_P(GpuDeviceTest, CopiesAreRefusedDuringCaptureAndSpoilNone) {
  ASSERT_OK_AND_ASSIGN(Tensor device, device_->ToDevice(AsTensor<float>({1})));
  ASSERT_THAT(device_->compute().BeginCapture(GpuCaptureMode::kThreadLocal), IsOk());
  ASSERT_THAT(Increment(device), IsOk());
  EXPECT_THAT(device_->ToDevice(AsTensor<float>({2})),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("captures a graph")));
  EXPECT_THAT(Fetch(*device_, device), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(device_->compute().EndCapture(), IsOk());
}

TEST_P(GpuDeviceTest, WhatBrokeTheDeviceIsToldInPlaceOfWantOfMemory) {
  ASSERT_OK_AND_ASSIGN(Tensor device, device_->ToDevice(AsTensor<float>({1})));
  gpu_->FailNextOperation(GpuError::kIllegalInstruction);
  Increment(device).IgnoreError();
  EXPECT_FALSE(device_->compute().Synchronize().ok());
  const absl::Status status = device_->ToDevice(Tensor(DT_FLOAT, TensorShape({1 << 20}))).status();
  EXPECT_EQ(GpuErrorOf(status), GpuError::kIllegalInstruction) << status;
}

TEST_P(GpuDeviceTest, AHostTensorOutlivesTheDevice) {
  ASSERT_OK_AND_ASSIGN(Tensor device, device_->ToDevice(AsTensor<float>({5})));
  ASSERT_OK_AND_ASSIGN(Tensor output, Fetch(*device_, device));
  device = Tensor();
  device_.reset();
  ExpectTensorEqual(output, AsTensor<float>({5}));
  output = Tensor();
  EXPECT_EQ(gpu_->num_allocations(), 0);
}

TEST_P(GpuDeviceTest, EmptyTensorsAndScalars) {
  for (const Tensor& input : {Tensor(DT_INT64, TensorShape({0, 3})), AsScalar<int64_t>(7)}) {
    ASSERT_OK_AND_ASSIGN(Tensor device, device_->ToDevice(input));
    ASSERT_OK_AND_ASSIGN(Tensor output, Fetch(*device_, device));
    ExpectTensorEqual(output, input);
  }
}

TEST_P(GpuDeviceTest, ObjectsStayOnTheHost) {
  EXPECT_THAT(device_->ToDevice(AsScalar<tstring>("x")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("device:GPU:2")));
  EXPECT_THAT(Fetch(*device_, AsScalar<tstring>("x")), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(GpuDeviceTest, OutOfMemoryTellsWhoHasIt) {
  GpuAllocationScope scope("layer/weights");
  ASSERT_OK_AND_ASSIGN(Tensor held, device_->ToDevice(Tensor(DT_FLOAT, TensorShape({1 << 20}))));
  GpuAllocationScope inner("layer/MatMul");
  EXPECT_THAT(device_->ToDevice(Tensor(DT_FLOAT, TensorShape({1500000}))),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("shape[1500000] and type float by allocator GPU_2_bfc"),
                             HasSubstr("for node 'layer/MatMul'"), HasSubstr("'layer/weights' 4MiB"))));
}

TEST_P(GpuDeviceTest, AnErrorOfTheDeviceReachesWhoWaits) {
  ASSERT_OK_AND_ASSIGN(Tensor device, device_->ToDevice(AsTensor<float>({1})));
  ASSERT_THAT(device_->compute().Synchronize(), IsOk());
  gpu_->FailNextOperation(GpuError::kIllegalAddress);
  Increment(device).IgnoreError();
  const absl::Status status = Fetch(*device_, device).status();
  EXPECT_EQ(GpuErrorOf(status), GpuError::kIllegalAddress) << status;
}

}  // namespace
}  // namespace weir
