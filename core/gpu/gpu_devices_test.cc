#include "core/gpu/gpu_devices.h"

#include "core/gpu/simulated_gpu.h"
#include "core/testing.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr size_t kMiB = size_t{1} << 20;

class GpuDevicesTest : public testing::Test {
 protected:
  absl::StatusOr<GpuDevices> Make() { return MakeGpuDevices(platform_, config_, task_, work_queue_.get()); }
  tensorflow::GPUOptions& options() { return *config_.mutable_gpu_options(); }
  static std::vector<std::string> Names(const GpuDevices& made) {
    std::vector<std::string> names;
    for (const auto& device : made.devices) names.push_back(device->name());
    return names;
  }

  int count_ = 3;
  std::vector<int> opened_;
  GpuPlatform platform_ = {.count = [this]() -> absl::StatusOr<int> {
                             if (count_ == 0) return GpuStatus(GpuError::kNoDevice, "counting");
                             return count_;
                           },
                           .open = [this](int id) -> absl::StatusOr<std::shared_ptr<GpuRuntime>> {
                             opened_.push_back(id);
                             return std::make_shared<SimulatedGpu>(SimulatedGpu::Options{
                                 .memory_bytes = 1024 * kMiB, .name = absl::StrCat("Simulated ", id)});
                           }};
  tensorflow::ConfigProto config_;
  const DeviceName task_ = *DeviceName::Parse("/job:worker/replica:0/task:0");
  std::unique_ptr<WorkQueue> work_queue_ = WorkQueue::Create({.compute_threads = 1});
};

TEST_F(GpuDevicesTest, AllGpusOfTheMachine) {
  ASSERT_OK_AND_ASSIGN(const GpuDevices made, Make());
  EXPECT_THAT(Names(made),
              ElementsAre("/job:worker/replica:0/task:0/device:GPU:0", "/job:worker/replica:0/task:0/device:GPU:1",
                          "/job:worker/replica:0/task:0/device:GPU:2"));
  EXPECT_EQ(made.reason, "");
  EXPECT_EQ(made.devices[1]->memory().options().limit, (1024 - 225) * kMiB);
}

TEST_F(GpuDevicesTest, OnlyVisibleOnesAreOpened) {
  options().set_visible_device_list("2");
  ASSERT_OK_AND_ASSIGN(const GpuDevices made, Make());
  ASSERT_EQ(made.devices.size(), 1);
  EXPECT_THAT(opened_, ElementsAre(2));
  EXPECT_EQ(made.devices[0]->name(), "/job:worker/replica:0/task:0/device:GPU:0");
  EXPECT_THAT(made.devices[0]->physical_description(), HasSubstr("device: 2, name: Simulated 2,"));
}

TEST_F(GpuDevicesTest, NoMoreAreOpenedThanAreAskedFor) {
  options().set_visible_device_list("2,0");
  (*config_.mutable_device_count())["GPU"] = 1;
  ASSERT_OK_AND_ASSIGN(const GpuDevices made, Make());
  EXPECT_EQ(made.devices.size(), 1);
  EXPECT_THAT(opened_, ElementsAre(2));
}

TEST_F(GpuDevicesTest, ADividedGpuIsOpenedOnce) {
  count_ = 1;
  auto* parts = options().mutable_experimental()->add_virtual_devices();
  parts->add_memory_limit_mb(100);
  parts->add_memory_limit_mb(200);
  ASSERT_OK_AND_ASSIGN(const GpuDevices made, Make());
  EXPECT_THAT(opened_, ElementsAre(0));
  ASSERT_EQ(made.devices.size(), 2);
  EXPECT_EQ(&made.devices[0]->runtime(), &made.devices[1]->runtime());
  EXPECT_EQ(made.devices[1]->memory().options().limit, 200 * kMiB);
  EXPECT_EQ(made.devices[1]->memory().options().name, "GPU_1_bfc");
}

TEST_F(GpuDevicesTest, NoGpuIsNoError) {
  count_ = 0;
  options().set_visible_device_list("0");
  options().mutable_experimental()->add_virtual_devices()->add_memory_limit_mb(100);
  ASSERT_OK_AND_ASSIGN(const GpuDevices made, Make());
  EXPECT_THAT(made.devices, IsEmpty());
  EXPECT_THAT(made.reason, HasSubstr("no CUDA-capable device is detected"));
}

TEST_F(GpuDevicesTest, NoneAreOpenedWhereNoneAreAskedFor) {
  (*config_.mutable_device_count())["GPU"] = 0;
  ASSERT_OK_AND_ASSIGN(const GpuDevices made, Make());
  EXPECT_THAT(made.devices, IsEmpty());
  EXPECT_THAT(opened_, IsEmpty());
  EXPECT_THAT(made.reason, HasSubstr("device_count"));
}

TEST_F(GpuDevicesTest, WhatTensorFlowRefusesIsRefused) {
  options().set_visible_device_list("3");
  EXPECT_THAT(Make(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("but visible device count is 3")));
}

}  // namespace
}  // namespace weir
