#include "core/device/device.h"

#include "gtest/gtest.h"
#include "tensorflow/core/framework/device_attributes.pb.h"

namespace weir {
namespace {

TEST(CpuDeviceTest, DescribesItself) {
  auto queue = WorkQueue::Create({});
  auto task = DeviceName::Parse("/job:ps/replica:0/task:1");
  auto device = NewCpuDevice(*task, 2, queue.get(), 1 << 20);
  EXPECT_EQ(device->name(), "/job:ps/replica:0/task:1/device:CPU:2");
  EXPECT_EQ(device->type(), kDeviceCpu);
  EXPECT_EQ(device->work_queue(), queue.get());
  tensorflow::DeviceAttributes attributes;
  device->ToProto(&attributes);
  EXPECT_EQ(attributes.name(), device->name());
  EXPECT_EQ(attributes.device_type(), "CPU");
  EXPECT_EQ(attributes.memory_limit(), 1 << 20);
  EXPECT_EQ(attributes.incarnation(), device->incarnation());
}

TEST(CpuDeviceTest, IncarnationsDiffer) {
  auto queue = WorkQueue::Create({});
  auto first = NewCpuDevice({}, 0, queue.get());
  auto second = NewCpuDevice({}, 0, queue.get());
  EXPECT_NE(first->incarnation(), 0);
  EXPECT_NE(first->incarnation(), second->incarnation());
}

struct AsksAtItsEnd : Resource {
  explicit AsksAtItsEnd(Device* device) : device(device) {}
  ~AsksAtItsEnd() override { EXPECT_FALSE(device->work_queue()->InComputeThread()); }
  std::string DebugString() const override { return "asks"; }
  Device* const device;
};

TEST(CpuDeviceTest, ResourcesEndBeforeTheDevice) {
  auto queue = WorkQueue::Create({});
  auto device = NewCpuDevice({}, 0, queue.get());
  EXPECT_TRUE(device->resources()->Create("", "asks", std::make_shared<AsksAtItsEnd>(device.get())).ok());
  device.reset();
}

}  // namespace
}  // namespace weir
