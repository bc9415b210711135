#include "core/kernel/kernel_registry.h"

#include "core/op/attr_value.h"
#include "core/testing.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class AnyKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override { return absl::OkStatus(); }
};

absl::Status Add(KernelRegistry& registry, const Kernel& kernel) { return registry.Register<AnyKernel>(kernel); }

tensorflow::NodeDef Node(DataType type) {
  tensorflow::NodeDef node;
  node.set_name("n");
  node.set_op("Foo");
  SetNodeAttr("T", type, &node);
  return node;
}

TEST(KernelRegistryTest, ChoosesByTypeDeviceAndLabel) {
  KernelRegistry registry;
  ASSERT_THAT(Add(registry, Kernel("Foo").Cpu().Type<float>("T")), IsOk());
  ASSERT_THAT(Add(registry, Kernel("Foo").Cpu().Types("T", {DT_INT32, DT_INT64})), IsOk());
  ASSERT_THAT(Add(registry, Kernel("Foo").Device(kDeviceGpu).Type<float>("T").HostMemory("axis")), IsOk());
  ASSERT_THAT(Add(registry, Kernel("Foo").Cpu().Type<float>("T").Label("fast")), IsOk());

  EXPECT_EQ(registry.Find(Node(DT_INT64), "CPU").value()->kernel.constraints()[0].allowed.size(), 2u);
  EXPECT_EQ(registry.Find(Node(DT_FLOAT), "GPU").value()->kernel.host_args()[0], "axis");
  tensorflow::NodeDef labelled = Node(DT_FLOAT);
  EXPECT_EQ(registry.Find(labelled, "CPU").value()->kernel.label(), "");
  SetNodeAttr("_kernel", "fast", &labelled);
  EXPECT_EQ(registry.Find(labelled, "CPU").value()->kernel.label(), "fast");
  EXPECT_TRUE(registry.HasKernel("Foo", "GPU"));
  EXPECT_FALSE(registry.HasKernel("Foo", "TPU"));
  EXPECT_FALSE(registry.HasKernel("Bar", "CPU"));
  EXPECT_EQ(registry.ForOp("Foo").size(), 4u);
}

TEST(KernelRegistryTest, ListsOfTypesMustAllBeAllowed) {
  KernelRegistry registry;
  ASSERT_THAT(Add(registry, Kernel("Foo").Cpu().Types("T", {DT_FLOAT, DT_INT32})), IsOk());
  tensorflow::NodeDef node = Node(DT_FLOAT);
  SetNodeAttr("T", DataTypeVector{DT_FLOAT, DT_INT32}, &node);
  EXPECT_THAT(registry.Find(node, "CPU"), IsOk());
  SetNodeAttr("T", DataTypeVector{DT_FLOAT, DT_BOOL}, &node);
  EXPECT_THAT(registry.Find(node, "CPU"), StatusIs(absl::StatusCode::kUnimplemented));
  node.mutable_attr()->erase("T");
  EXPECT_THAT(registry.Find(node, "CPU"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("constraint on attr 'T'")));
}

TEST(KernelRegistryTest, OverlapsAreErrors) {
  KernelRegistry registry;
  ASSERT_THAT(Add(registry, Kernel("Foo").Cpu().Types("T", {DT_FLOAT, DT_INT32})), IsOk());
  EXPECT_THAT(Add(registry, Kernel("Foo").Cpu().Type<int32_t>("T")), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(Add(registry, Kernel("Foo").Cpu()), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(Add(registry, Kernel("Foo").Cpu().Type<float>("U")), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(Add(registry, Kernel("Foo").Cpu().Type<double>("T")), IsOk());
  EXPECT_THAT(Add(registry, Kernel("Foo")), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(KernelRegistryTest, WhatIsMissingIsNamedWithWhatThereIs) {
  KernelRegistry registry;
  EXPECT_THAT(registry.Find(Node(DT_FLOAT), "CPU"),
              StatusIs(absl::StatusCode::kUnimplemented,
                       AllOf(HasSubstr("No OpKernel was registered to support Op 'Foo' used by {{node n}}"),
                             HasSubstr("<no registered kernels>"))));
  ASSERT_THAT(Add(registry, Kernel("Foo").Device(kDeviceGpu).Type<double>("T")), IsOk());
  EXPECT_THAT(
      registry.Find(Node(DT_FLOAT), "CPU"),
      StatusIs(absl::StatusCode::kUnimplemented, AllOf(HasSubstr("with these attrs: [T=DT_FLOAT] on device type CPU"),
                                                       HasSubstr("device='GPU'; T in [double]"))));
}

}  // namespace
}  // namespace weir
