// The second operand of products in a loop, in oneDNN's order.
#pragma once

#include <memory>

#include "core/kernel/op_kernel.h"
#include "kernels/linalg/matmul/gemm.h"

namespace weir {

// op(b) of a product whose second operand stays the same while a loop runs: brought into the order of oneDNN's kernels
// at the first iteration and kept until the step ends, together with the operand, which nothing can overwrite
// meanwhile. If the operand does change, the next iteration does so again. Kernels that read operands as they lie
// reorder them again in each product, which for a few rows is a large part of it. Immutable.
class LoopOperand {
 public:
  virtual ~LoopOperand() = default;
  // The operand of `node`, a kernel, in this step. `g` is the whole product, which is computed `rows` rows at a time.
  // nullptr if the library has no such kernel for the CPU and the type.
  static absl::StatusOr<std::shared_ptr<const LoopOperand>> Find(OpKernelContext& ctx, const void* node,
                                                                 const Tensor& b, const GemmArgs& g, int64_t rows);
  // A product of `rows` rows, or of the last ones. Rows of `a` and `c` lie one after another.
  virtual void Multiply(const GemmArgs& g) const = 0;
};

// Products of fewer multiplications gain nothing.
constexpr int64_t kWorthKeeping = 1 << 18;

}  // namespace weir
