#include "kernels/activation/family.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/channels.h"

namespace weir {
namespace {

class ChannelKernel : public GpuOpKernel {
 protected:
  absl::Status ReadFormat(OpKernelConstruction& ctx) {
    std::string format = "NHWC";
    if (ctx.HasAttr("data_format")) RETURN_IF_ERROR(ctx.GetAttr("data_format", &format));
    channels_first_ = format == "NCHW";
    return absl::OkStatus();
  }
  bool channels_first_ = false;
};

class BiasAddKernel : public ChannelKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindBody("BiasAdd", ctx.input_types()[0]));
    return ReadFormat(ctx);
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const TensorShape shape = ctx.input(0).shape();
    const Tensor& bias = ctx.input(1);
    ASSIGN_OR_RETURN(const Channels view, Channels::OfBias(shape, bias.shape(), channels_first_));
    const GpuAccess in = ReadOf(ctx.input(0));  // forwarding moves the input away
    ASSIGN_OR_RETURN(Tensor * output, ctx.forward_input_or_allocate_output({0}, 0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    return stream.LaunchWith(kernel_,
                             BiasArgs{.in = in.data,
                                      .bias = bias.raw_data(),
                                      .out = output->raw_data(),
                                      .channels = view.channels,
                                      .inner = view.inner,
                                      .count = output->NumElements()},
                             {in, ReadOf(bias), WriteOf(*output)});
  }
  GpuKernel kernel_;
};

class BiasAddGradKernel : public ChannelKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindBody("Sum", ctx.input_types()[0]));
    return ReadFormat(ctx);
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& gradient = ctx.input(0);
    ASSIGN_OR_RETURN(const Channels view, Channels::Of(gradient.shape(), channels_first_));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({view.channels})));
    if (view.channels == 0) return absl::OkStatus();
    FoldArgs args{.in = gradient.raw_data(), .out = output->raw_data(), .length = view.outer * view.inner};
    if (args.length > 0) {
      ASSIGN_OR_RETURN(args.kept, LayoutOf({view.channels}, {view.inner}));
      ASSIGN_OR_RETURN(args.folded, LayoutOf({view.outer, view.inner}, {view.channels * view.inner, 1}));
    }
    args.count = view.channels;
    return stream.LaunchWith(kernel_, args, {ReadOf(gradient), WriteOf(*output)});
  }
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuBiasKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuFloats); };
  for (const char* op : {"BiasAdd", "BiasAddV1"}) RETURN_IF_ERROR(kernels.Register<BiasAddKernel>(kernel(op)));
  return kernels.Register<BiasAddGradKernel>(kernel("BiasAddGrad"));
}

}  // namespace weir
