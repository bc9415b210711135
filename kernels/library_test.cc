#include "kernels/library.h"

#include "core/kernel/memory_types.h"
#include "gtest/gtest.h"
#include "kernels/device/blocking_kernel.h"
#include "kernels/op_testing.h"

namespace weir {
namespace {

class RegisterAllTest : public OpTest {};

// A kernel's constraints name attributes of its op, and types that the op allows.
void ExpectFits(const Kernel& kernel, const tensorflow::OpDef& op_def) {
  for (const Kernel::TypeConstraint& constraint : kernel.constraints()) {
    const tensorflow::OpDef::AttrDef* found = nullptr;
    for (const tensorflow::OpDef::AttrDef& attr : op_def.attr()) {
      if (attr.name() == constraint.attr) found = &attr;
    }
    ASSERT_NE(found, nullptr) << kernel.op() << " has no attribute " << constraint.attr;
  }
  for (const std::string& arg : kernel.host_args()) {
    bool found = arg == kAllArguments || arg == kAllOutputs || arg == kInt32Arguments;
    for (const auto& input : op_def.input_arg()) found |= input.name() == arg;
    for (const auto& output : op_def.output_arg()) found |= output.name() == arg;
    EXPECT_TRUE(found) << kernel.op() << " has no argument " << arg;
  }
}

TEST_F(RegisterAllTest, KernelsMatchTheirOps) {
  int count = 0;
  for (const OpRegistration* op : ops().All()) {
    for (const KernelRegistry::Registration* registration : kernels().ForOp(op->op_def->name())) {
      ++count;
      ExpectFits(registration->kernel, *op->op_def);
    }
  }
  EXPECT_GT(count, 500);
}

TEST_F(RegisterAllTest, EveryOpHasAShapeFunction) {
  for (const OpRegistration* op : ops().All()) {
    EXPECT_TRUE(op->shape_fn != nullptr) << op->op_def->name();
  }
}

// An asynchronous kernel waits for other nodes, or for functions, unless it waits for files only. _Recv waits along an
// edge of the unpartitioned graph.
bool Waits(const KernelRegistry::Registration& registration) {
  const std::unique_ptr<OpKernel> kernel = registration.factory();
  return dynamic_cast<AsyncOpKernel*>(kernel.get()) != nullptr && dynamic_cast<WaitsForFiles*>(kernel.get()) == nullptr;
}

TEST_F(RegisterAllTest, OpsThatBlockSaySo) {
  int count = 0;
  for (const OpRegistration* op : ops().All()) {
    const std::string& name = op->op_def->name();
    if (name == "_Recv" || name == "_HostRecv") continue;
    for (const KernelRegistry::Registration* registration : kernels().ForOp(name)) {
      if (registration->kernel.device_type() != kDeviceCpu || !Waits(*registration)) continue;
      ++count;
      EXPECT_TRUE(op->may_block || op->has_functions) << name;
    }
  }
  EXPECT_GT(count, 60);
}

TEST_F(RegisterAllTest, ElementwiseOpsHaveOneOutput) {
  int count = 0;
  for (const OpRegistration* op : ops().All()) {
    if (!op->elementwise) continue;
    ++count;
    EXPECT_EQ(op->op_def->output_arg_size(), 1) << op->op_def->name();
    EXPECT_FALSE(op->may_block) << op->op_def->name();
  }
  EXPECT_GT(count, 100);
}

}  // namespace
}  // namespace weir
