// The base of fixtures that run ops of the library. Link weir_testing.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/op_kernel_testing.h"
#include "kernels/library.h"

namespace weir {

// Runs any op of the library.
class OpTest : public KernelTest {
 protected:
  void SetUp() override { Register(RegisterAllOps, RegisterAllKernels); }

  struct BadCase {
    std::string op;
    std::vector<TestInput> inputs;
    std::string message;
    Attrs attrs = {};
    absl::StatusCode code = absl::StatusCode::kInvalidArgument;
  };
  // Each fails with its code and message.
  void ExpectErrors(const std::vector<BadCase>& cases) {
    for (const BadCase& c : cases) {
      EXPECT_THAT(RunOp(c.op, c.inputs, c.attrs), StatusIs(c.code, ::testing::HasSubstr(c.message))) << c.op;
    }
  }

  static Tensor Ints(std::vector<int32_t> values) { return AsTensor<int32_t>(std::move(values)); }
  static Tensor Int(int32_t value) { return AsScalar<int32_t>(value); }
  static Tensor F(std::vector<float> values, const TensorShape& shape) {
    return AsTensor<float>(std::move(values), shape);
  }
  static Tensor One(float value) { return AsScalar<float>(value); }
};

}  // namespace weir
