// Local response normalisation.
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/normalization/device_lrn.h"
#include "kernels/normalization/family.h"

namespace weir {
namespace {

class LrnKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("depth_radius", &radius_));
    RETURN_IF_ERROR(ctx.GetAttr("bias", &bias_));
    RETURN_IF_ERROR(ctx.GetAttr("alpha", &alpha_));
    RETURN_IF_ERROR(ctx.GetAttr("beta", &beta_));
    if (radius_ < 0) return errors::InvalidArgument("depth_radius must not be negative, got ", radius_);
    ASSIGN_OR_RETURN(norm_, FindBody("LRNNorm", ctx.output_types()[0]));
    ASSIGN_OR_RETURN(kernel_, FindBody(ctx.op(), ctx.output_types()[0]));
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const bool is_gradient = ctx.num_inputs() > 1;
    const Tensor& in = ctx.input(is_gradient ? 1 : 0);
    if (!is_gradient && in.dims() != 4) return errors::InvalidArgument("in must be 4-dimensional");
    if (is_gradient && (in.dims() != 4 || ctx.input(0).shape() != in.shape() || ctx.input(2).shape() != in.shape())) {
      return errors::InvalidArgument("input_grads, input_image, and out_image should have the same shape of rank 4");
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, in.shape()));
    if (output->NumElements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(Tensor norms, ctx.allocate_temp(DT_FLOAT, in.shape()));
    LrnArgs args{.in = in.raw_data(),
                 .norms = norms.data<float>(),
                 .result = output->raw_data(),
                 .width = in.dim_size(3),
                 .radius = radius_,
                 .bias = bias_,
                 .alpha = alpha_,
                 .beta = beta_,
                 .count = in.NumElements()};
    RETURN_IF_ERROR(stream.LaunchWith(norm_, args, {ReadOf(in), WriteOf(norms)}));
    if (!is_gradient) return stream.LaunchWith(kernel_, args, {ReadOf(in), ReadOf(norms), WriteOf(*output)});
    args.gradient = ctx.input(0).raw_data();
    args.out = ctx.input(2).raw_data();
    return stream.LaunchWith(kernel_, args,
                             {ReadOf(in), ReadOf(norms), ReadOf(ctx.input(0)), ReadOf(ctx.input(2)), WriteOf(*output)});
  }

  int64_t radius_ = 5;
  float bias_ = 1, alpha_ = 1, beta_ = 0.5f;
  GpuKernel norm_, kernel_;
};

}  // namespace

absl::Status RegisterGpuLrnKernels(KernelRegistry& kernels) {
  for (const char* op : {"LRN", "LRNGrad"}) {
    RETURN_IF_ERROR(
        kernels.Register<LrnKernel>(Kernel(op).Device(kDeviceGpu).Types("T", {DT_FLOAT, DT_HALF, DT_BFLOAT16})));
  }
  return absl::OkStatus();
}

}  // namespace weir
