#include "core/gpu/gpu_op_kernel.h"

#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {

absl::Status GpuOpKernel::Init(OpKernelConstruction& ctx) {
  device_ = FindGpu(ctx.device());
  if (device_ == nullptr) {
    return errors::Internal("Node '", ctx.name(), "' (", ctx.op(), ") has a GPU kernel, but is on ",
                            ctx.device()->name());
  }
  return InitOnGpu(ctx);
}

absl::Status GpuOpKernel::Compute(OpKernelContext& ctx) {
  const GpuAllocationScope scope(ctx.node_def().name());
  return device_->Explain(Enqueue(ctx, device_->kernel_stream()));
}

}  // namespace weir
