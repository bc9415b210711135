// BroadcastTo.
#include "core/tensor/index_tensor.h"
#include "kernels/device/broadcast_steps.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/strided_source.h"
#include "kernels/elementwise/family.h"

namespace weir {
namespace {

class BroadcastToKernel : public GpuOpKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const TensorShape target, ReadShape(ctx.input(1)));
    ASSIGN_OR_RETURN(const DimVector steps, BroadcastSteps(input.shape(), target));
    return CopyStrided(ctx, stream, 0,
                       {.input = input,
                        .steps = steps,
                        .sizes = DimVector(target.dim_sizes().begin(), target.dim_sizes().end()),
                        .shape = target});
  }
};

}  // namespace

absl::Status RegisterGpuBroadcastKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuMoved); };
  return kernels.Register<BroadcastToKernel>(kernel("BroadcastTo").HostMemory("shape"));
}

}  // namespace weir
