// Runs the ops of a fused expression one by one.
#pragma once

#include <vector>

#include "core/fusion/fused_expression.h"
#include "core/gpu/gpu_op_kernel.h"

namespace weir {

// Runs an expression by the kernels that its ops have when they are not fused, but for its reduction. Immutable.
class StepwiseRun {
 public:
  // UNIMPLEMENTED where an op has none.
  static absl::StatusOr<StepwiseRun> Of(const FusedExpression& expression);

  // `shapes` are those of all values (ShapesOfValues). `allocate` gives the tensor of output `index`; what comes
  // between is temporary.
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream, const std::vector<TensorShape>& shapes,
                       absl::FunctionRef<absl::StatusOr<Tensor>(int index)> allocate) const;

 private:
  explicit StepwiseRun(FusedExpression expression) : expression_(std::move(expression)) {}

  FusedExpression expression_;
  std::vector<GpuKernel> kernels_;  // by step
  std::vector<int> last_use_;       // of values: the last step that reads it
};

}  // namespace weir
