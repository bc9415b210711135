// ClipByValue.
#include "kernels/elementwise/args_clip.h"
#include "kernels/elementwise/family.h"
#include "kernels/elementwise/gpu_ternary.h"

namespace weir {
namespace {

class ClipByValueKernel : public TernaryKernel {
  absl::StatusOr<TensorShape> ShapeOf(OpKernelContext& ctx) const override {
    RETURN_IF_ERROR(CheckBounds(ctx.input(0).shape(), ctx.input(1).shape(), ctx.input(2).shape()));
    return ctx.input(0).shape();
  }
};

}  // namespace

absl::Status RegisterGpuClipKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op, const DataTypeVector& types) {
    return Kernel(op).Device(kDeviceGpu).Types("T", types);
  };
  const DataTypeVector numbers = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64};
  return kernels.Register<ClipByValueKernel>(kernel("ClipByValue", numbers));
}

}  // namespace weir
