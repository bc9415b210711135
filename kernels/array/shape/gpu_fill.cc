// Tensors of one value.
#include "core/tensor/index_tensor.h"
#include "kernels/array/family.h"
#include "kernels/device/gpu/body_kernel.h"

namespace weir {
namespace {

absl::Status FillWith(GpuStream& stream, const GpuKernel& kernel, const Tensor& value, Tensor* output) {
  if (output->NumElements() == 0) return absl::OkStatus();
  return stream.LaunchWith(
      kernel, FillArgs{.value = value.raw_data(), .out = output->raw_data(), .count = output->NumElements()},
      {ReadOf(value), WriteOf(*output)});
}

class FillKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindMove("Fill", ctx.input_types()[1]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& dims = ctx.input(0);
    const Tensor& value = ctx.input(1);
    if (dims.dims() != 1) {
      return errors::InvalidArgument("dims must represent a vector, got shape ", dims.shape().ToString());
    }
    if (value.dims() != 0) {
      return errors::InvalidArgument("value must represent a scalar, got shape ", value.shape().ToString());
    }
    ASSIGN_OR_RETURN(const DimVector sizes, ReadIntegers(dims));
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(sizes));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    return FillWith(stream, kernel_, value, output);
  }

 private:
  GpuKernel kernel_;
};

// ZerosLike and OnesLike.
class LikeKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    const int constant = ctx.op() == "OnesLike" ? 1 : 0;
    constant_ = ValueOf(ctx.input_types()[0], constant, constant);
    ASSIGN_OR_RETURN(kernel_, FindMove("Fill", ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, ctx.input(0).shape()));
    if (output->NumElements() == 0) return absl::OkStatus();
    return stream.LaunchWith(kernel_,
                             FillArgs{.constant = constant_, .out = output->raw_data(), .count = output->NumElements()},
                             {WriteOf(*output)});
  }

 private:
  PlainValue constant_;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuFillKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(
      kernels.Register<FillKernel>(Kernel("Fill").Device(kDeviceGpu).Types("T", kGpuMoved).HostMemory("dims")));
  for (const char* op : {"ZerosLike", "OnesLike"}) {
    RETURN_IF_ERROR(kernels.Register<LikeKernel>(Kernel(op).Device(kDeviceGpu).Types("T", kGpuMoved)));
  }
  return absl::OkStatus();
}

}  // namespace weir
