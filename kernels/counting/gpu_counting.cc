// Bucketize and Cross.
#include <algorithm>

#include "kernels/array/moving/device.h"
#include "kernels/counting/args_cross.h"
#include "kernels/counting/family.h"
#include "kernels/device/gpu/body_kernel.h"

namespace weir {
namespace {

class CrossKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindBody("Cross", ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    RETURN_IF_ERROR(CheckCross(a, b));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, a.shape()));
    if (output->NumElements() == 0) return absl::OkStatus();
    return stream.LaunchWith(
        kernel_,
        CrossArgs{.a = a.raw_data(), .b = b.raw_data(), .out = output->raw_data(), .count = output->NumElements()},
        {ReadOf(a), ReadOf(b), WriteOf(*output)});
  }
  GpuKernel kernel_;
};

class BucketizeKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    std::vector<float> boundaries;
    RETURN_IF_ERROR(ctx.GetAttr("boundaries", &boundaries));
    if (!std::is_sorted(boundaries.begin(), boundaries.end())) {
      return errors::InvalidArgument("Expected sorted boundaries");
    }
    Tensor on_host(DT_FLOAT, TensorShape({static_cast<int64_t>(boundaries.size())}));
    std::copy(boundaries.begin(), boundaries.end(), on_host.data<float>());
    ASSIGN_OR_RETURN(boundaries_, gpu().ToDevice(on_host));
    ASSIGN_OR_RETURN(kernel_, FindBody("Bucketize", ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    if (output->NumElements() == 0) return absl::OkStatus();
    return stream.LaunchWith(kernel_,
                             BucketizeArgs{.in = input.raw_data(),
                                           .boundaries = boundaries_.raw_data(),
                                           .num_boundaries = boundaries_.NumElements(),
                                           .out = output->raw_data(),
                                           .count = output->NumElements()},
                             {ReadOf(input), ReadOf(boundaries_), WriteOf(*output)});
  }
  Tensor boundaries_;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuCountingKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op, const DataTypeVector& types) {
    return Kernel(op).Device(kDeviceGpu).Types("T", types);
  };
  const DataTypeVector numbers = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64};
  RETURN_IF_ERROR(kernels.Register<CrossKernel>(kernel("Cross", numbers)));
  RETURN_IF_ERROR(kernels.Register<BucketizeKernel>(kernel("Bucketize", {DT_FLOAT, DT_DOUBLE, DT_INT32, DT_INT64})));
  return absl::OkStatus();
}

}  // namespace weir
