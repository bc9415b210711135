#include "core/kernel/memory_types.h"

#include "core/op/attr_value.h"
#include "core/op/op_registry.h"
#include "core/testing.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

using testing::ElementsAre;

constexpr MemoryType kDevice = MemoryType::kDevice, kHost = MemoryType::kHost;

// Counts as another device's memory in this test.
class OtherMemory : public Allocator {
 public:
  absl::string_view name() const override { return "other"; }
  void* AllocateRaw(size_t bytes) override { return CpuAllocator()->AllocateRaw(bytes); }
  void DeallocateRaw(void* data, size_t bytes) override { CpuAllocator()->DeallocateRaw(data, bytes); }
  AllocatorStats Stats() const override { return {}; }
};

class OtherDevice : public Device {
 public:
  OtherDevice() : Device(*DeviceName::ParseFull("/job:a/replica:0/task:0/device:GPU:0"), 1, 0) {}
  Allocator* allocator() override { return &memory_; }
  WorkQueue* work_queue() override { return nullptr; }

 private:
  OtherMemory memory_;
};

class AllocatingKernel : public OpKernel {
  absl::Status Compute(OpKernelContext& ctx) override { return ctx.allocate_output(0, TensorShape({1})).status(); }
};

class MemoryTypesTest : public testing::Test {
 protected:
  MemoryTypesTest() {
    EXPECT_THAT(ops_.Register(Op("Foo")
                                  .Input("x: T")
                                  .Input("handle: resource")
                                  .Input("sizes: N * int32")
                                  .Output("y: T")
                                  .Attr("T: type")
                                  .Attr("N: int")),
                IsOk());
  }
  absl::StatusOr<NodeMemory> MemoryOf(const Kernel& kernel, DataType type, absl::string_view device = kDeviceGpu) {
    KernelRegistry kernels;
    EXPECT_THAT(kernels.Register<AllocatingKernel>(kernel), IsOk());
    return MemoryOfNode(kernels, Node(type), *ops_.LookUp("Foo").value(), device);
  }
  static tensorflow::NodeDef Node(DataType type) {
    tensorflow::NodeDef node;
    node.set_name("n");
    node.set_op("Foo");
    SetNodeAttr("T", type, &node);
    SetNodeAttr("N", int64_t{2}, &node);
    return node;
  }

  OpRegistry ops_;
};

TEST_F(MemoryTypesTest, ArgumentsAreWhereTheRegistrationSays) {
  ASSERT_OK_AND_ASSIGN(const NodeMemory memory,
                       MemoryOf(Kernel("Foo").Device(kDeviceGpu).HostMemory("sizes"), DT_FLOAT));
  EXPECT_THAT(memory.inputs, ElementsAre(kDevice, kHost, kHost, kHost));
  EXPECT_THAT(memory.outputs, ElementsAre(kDevice));
}

TEST_F(MemoryTypesTest, ObjectsAreAlwaysOnTheHost) {
  ASSERT_OK_AND_ASSIGN(const NodeMemory memory, MemoryOf(Kernel("Foo").Device(kDeviceGpu), DT_STRING));
  EXPECT_THAT(memory.inputs, ElementsAre(kHost, kHost, kDevice, kDevice));
  EXPECT_THAT(memory.outputs, ElementsAre(kHost));
}

TEST_F(MemoryTypesTest, MarksStandForManyArguments) {
  ASSERT_OK_AND_ASSIGN(const NodeMemory int32,
                       MemoryOf(Kernel("Foo").Device(kDeviceGpu).HostMemory(kInt32Arguments), DT_INT32));
  EXPECT_THAT(int32.inputs, ElementsAre(kHost, kHost, kHost, kHost));
  ASSERT_OK_AND_ASSIGN(const NodeMemory outputs,
                       MemoryOf(Kernel("Foo").Device(kDeviceGpu).HostMemory(kAllOutputs), DT_FLOAT));
  EXPECT_THAT(outputs.inputs, ElementsAre(kDevice, kHost, kDevice, kDevice));
  EXPECT_THAT(outputs.outputs, ElementsAre(kHost));
  ASSERT_OK_AND_ASSIGN(const NodeMemory all,
                       MemoryOf(Kernel("Foo").Device(kDeviceGpu).HostMemory(kAllArguments), DT_FLOAT));
  EXPECT_THAT(all.inputs, ElementsAre(kHost, kHost, kHost, kHost));
  EXPECT_THAT(all.outputs, ElementsAre(kHost));
}

TEST_F(MemoryTypesTest, OnACpuAllIsHostMemoryAndWithoutKernelThereIsNone) {
  ASSERT_OK_AND_ASSIGN(const NodeMemory cpu, MemoryOf(Kernel("Foo").Cpu(), DT_FLOAT, kDeviceCpu));
  EXPECT_THAT(cpu.inputs, ElementsAre(kHost, kHost, kHost, kHost));
  EXPECT_THAT(MemoryOf(Kernel("Foo").Cpu(), DT_FLOAT),
              StatusIs(absl::StatusCode::kUnimplemented, testing::HasSubstr("on device type GPU")));
}

TEST_F(MemoryTypesTest, ACpusKernelBesideADeviceAllocatesOnTheHost) {
  for (const bool on_host : {false, true}) {
    KernelRegistry kernels;
    Kernel registered = Kernel("Foo").Device(kDeviceGpu);
    if (on_host) registered.HostMemory(kAllArguments);
    ASSERT_THAT(kernels.Register<AllocatingKernel>(registered), IsOk());
    OtherDevice device;
    const tensorflow::NodeDef node = Node(DT_FLOAT);
    ASSERT_OK_AND_ASSIGN(const auto kernel, CreateKernel(kernels, node, *ops_.LookUp("Foo").value(), &device));
    StepContext step;
    step.device = &device;
    const DataType types[] = {DT_FLOAT};
    OpOutput output;
    OpKernelContext ctx(&step, &node, {}, types, absl::MakeSpan(&output, 1));
    ASSERT_THAT(kernel->Compute(ctx), IsOk());
    EXPECT_EQ(output.value.buffer()->allocator() == device.allocator(), !on_host);
    output = OpOutput();
  }
}

}  // namespace
}  // namespace weir
