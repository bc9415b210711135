// Pad, PadV2 and MirrorPad.
#include "kernels/array/family.h"
#include "kernels/array/moving/args_pad.h"
#include "kernels/array/moving/device_move.h"
#include "kernels/device/dense_steps.h"
#include "kernels/device/gpu/body_kernel.h"

namespace weir {
namespace {

class PadKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    if (ctx.op() == "MirrorPad") {
      std::string mode;
      RETURN_IF_ERROR(ctx.GetAttr("mode", &mode));
      frame_ = mode == "SYMMETRIC" ? PaddedDim::Frame::kSymmetric : PaddedDim::Frame::kReflect;
    }
    ASSIGN_OR_RETURN(kernel_, FindMove("Pad", ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    DimVector paddings;
    if (frame_ == PaddedDim::Frame::kValue) {
      ASSIGN_OR_RETURN(paddings, ReadPaddings(ctx.input(1), input.shape()));
    } else {
      ASSIGN_OR_RETURN(paddings, ReadMirrorPaddings(ctx.input(1), input.shape(),
                                                    /*symmetric=*/frame_ == PaddedDim::Frame::kSymmetric));
    }
    PadArgs args{.in = input.raw_data(), .rank = input.dims()};
    if (ctx.num_inputs() > 2) {
      const Tensor& value = ctx.input(2);
      if (value.dims() != 0) {
        return errors::InvalidArgument("constant_values must be a scalar. Found: ", value.shape().ToString());
      }
      args.value = ValueOf(value);
    }
    if (input.dims() > kMaxBodyRank) {
      return errors::Unimplemented("There is no GPU kernel that pads ", input.dims(), " dimensions; at most ",
                                   kMaxBodyRank);
    }
    ASSIGN_OR_RETURN(const TensorShape shape, PaddedShape(input.shape(), paddings));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    const DimVector steps = DenseSteps(input.shape().dim_sizes());
    for (int d = 0; d < input.dims(); ++d) {
      args.dims[d] = {input.dim_size(d), paddings[2 * d], shape.dim_size(d), frame_};
      args.steps[d] = steps[d];
    }
    args.out = output->raw_data();
    args.count = output->NumElements();
    return stream.LaunchWith(kernel_, args, {ReadOf(input), WriteOf(*output)});
  }
  PaddedDim::Frame frame_ = PaddedDim::Frame::kValue;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuPadKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) {
    return Kernel(op).Device(kDeviceGpu).Types("T", kGpuMoved).HostMemory("paddings");
  };
  RETURN_IF_ERROR(kernels.Register<PadKernel>(kernel("Pad")));
  RETURN_IF_ERROR(kernels.Register<PadKernel>(kernel("PadV2").HostMemory("constant_values")));
  return kernels.Register<PadKernel>(kernel("MirrorPad"));
}

}  // namespace weir
