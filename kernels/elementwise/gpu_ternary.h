// The base of GPU kernels that compute each element from three operands.
#pragma once

#include "kernels/array/moving/device.h"
#include "kernels/device/gpu/body_kernel.h"

namespace weir {

// A scalar operand is read for every element. ShapeOf checks the operands and returns the shape of the output.
class TernaryKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindBody(ctx.op(), ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const TensorShape shape, ShapeOf(ctx));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    TernaryArgs args{.out = output->raw_data(), .count = output->NumElements()};
    for (int i = 0; i < 3; ++i) {
      args.operands[i] = ctx.input(i).raw_data();
      args.steps[i] = ctx.input(i).dims() == 0 ? 0 : 1;
    }
    return stream.LaunchWith(kernel_, args,
                             {ReadOf(ctx.input(0)), ReadOf(ctx.input(1)), ReadOf(ctx.input(2)), WriteOf(*output)});
  }
  virtual absl::StatusOr<TensorShape> ShapeOf(OpKernelContext& ctx) const = 0;
  GpuKernel kernel_;
};

}  // namespace weir
