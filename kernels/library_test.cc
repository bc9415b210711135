#include "kernels/library.h"

#include "core/memory_types.h"
#include "core/op_kernel_testing.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

class RegisterAllTest : public KernelTest {
  void SetUp() override { Register(RegisterAllOps, RegisterAllKernels); }
};

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

}  // namespace
}  // namespace weir
