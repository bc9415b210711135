// Convolutions over three dimensions: plain loops, a thread for each output.
#include "absl/strings/match.h"
#include "kernels/convolution/args_volume.h"
#include "kernels/convolution/family.h"
#include "kernels/convolution/window_plan.h"
#include "kernels/device/gpu/body_kernel.h"

namespace weir {
namespace {

// Inputs: image (or its shape), filter (or its shape) and, backwards, the gradient of the output.
class VolumeConvolutionKernel : public GpuOpKernel {
  enum class Makes { kOutput, kInput, kFilter };

  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    std::string body = ctx.op();
    makes_ = absl::StrContains(body, "BackpropInput")    ? Makes::kInput
             : absl::StrContains(body, "BackpropFilter") ? Makes::kFilter
                                                         : Makes::kOutput;
    // The first versions of the gradient ops take the image or filter itself instead of its shape.
    has_sizes_ = absl::EndsWith(body, "V2");
    if (has_sizes_) body.resize(body.size() - 2);
    ASSIGN_OR_RETURN(kernel_, FindBody(body, ctx.output_types()[0]));
    ASSIGN_OR_RETURN(attrs_, VolumeAttrs::Read(ctx));
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    TensorShape in = ctx.input(0).shape(), filter = ctx.input(1).shape();
    if (has_sizes_) {
      ASSIGN_OR_RETURN((makes_ == Makes::kInput ? in : filter),
                       ReadSizes(ctx.input(makes_ == Makes::kInput ? 0 : 1), "sizes"));
    }
    if (makes_ != Makes::kOutput) {
      RETURN_IF_ERROR(
          VolumeConvolution::CheckOperands(attrs_, in, filter, ctx.input(2).shape(), makes_ == Makes::kInput));
    }
    ASSIGN_OR_RETURN(const VolumeConvolution convolution, VolumeConvolution::Of(attrs_, in, filter));
    ASSIGN_OR_RETURN(const TensorShape out, convolution.s.Output(convolution.out_channels));
    if (makes_ != Makes::kOutput) {
      RETURN_IF_ERROR(convolution.CheckGradient(ctx.input(2).shape(), makes_ == Makes::kInput));
    }
    ASSIGN_OR_RETURN(Tensor * result, ctx.allocate_output(0, makes_ == Makes::kOutput  ? out
                                                             : makes_ == Makes::kInput ? in
                                                                                       : filter));
    if (result->NumElements() == 0) return absl::OkStatus();
    VolumeArgs args = PlanOf(convolution.s);
    args.out_channels = convolution.out_channels;
    args.groups = convolution.groups;
    args.result = result->raw_data();
    args.count = result->NumElements();
    std::vector<GpuAccess> accesses = {WriteOf(*result)};
    const auto read = [&](const Tensor& tensor) {
      accesses.push_back(ReadOf(tensor));
      return tensor.raw_data();
    };
    if (makes_ != Makes::kInput) args.input = read(ctx.input(0));
    if (makes_ != Makes::kFilter) args.filter = read(ctx.input(1));
    if (makes_ != Makes::kOutput) args.output = read(ctx.input(2));
    return stream.LaunchWith(kernel_, args, accesses);
  }

  Makes makes_ = Makes::kOutput;
  bool has_sizes_ = false;
  VolumeAttrs attrs_;
  GpuKernel kernel_;
};

}  // namespace

VolumeArgs PlanOf(const VolumeShape& shape) {
  VolumeArgs args{.batch = shape.batch,
                  .in_channels = shape.channels,
                  .out_channels = shape.channels,
                  .groups = 1,
                  .channels_first = shape.channels_first};
  for (int d = 0; d < 3; ++d) args.dims[d] = PlanOf(shape.dims[d]);
  return args;
}

absl::Status RegisterGpuVolumeConvolutionKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuFloats); };
  RETURN_IF_ERROR(kernels.Register<VolumeConvolutionKernel>(kernel("Conv3D")));
  for (const char* op : {"Conv3DBackpropInput", "Conv3DBackpropFilter"}) {
    RETURN_IF_ERROR(kernels.Register<VolumeConvolutionKernel>(
        Kernel(op).Device(kDeviceGpu).Types("T", {DT_FLOAT, DT_DOUBLE, DT_HALF})));
  }
  RETURN_IF_ERROR(kernels.Register<VolumeConvolutionKernel>(kernel("Conv3DBackpropInputV2").HostMemory("input_sizes")));
  return kernels.Register<VolumeConvolutionKernel>(kernel("Conv3DBackpropFilterV2").HostMemory("filter_sizes"));
}

}  // namespace weir
