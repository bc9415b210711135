// Maximum and average over windows, and their gradients.
#include "absl/strings/match.h"
#include "core/tensor/index_tensor.h"
#include "kernels/convolution/args.h"
#include "kernels/convolution/window_plan.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/pooling/device.h"
#include "kernels/pooling/family.h"

namespace weir {
namespace {

class PoolKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    absl::string_view body = ctx.op();
    if (absl::EndsWith(body, "V2")) body.remove_suffix(2);
    ASSIGN_OR_RETURN(kernel_, FindBody(std::string(body), ctx.output_types()[0]));
    ASSIGN_OR_RETURN(attrs_, WindowAttrs::Read(ctx));
    return absl::OkStatus();
  }
  const WindowAttrs& attrs() const { return attrs_; }
  absl::Status Launch(GpuStream& stream, const PoolShape& shape, const Tensor* in, const Tensor* gradient,
                      const Tensor& result) const {
    if (result.NumElements() == 0) return absl::OkStatus();
    PoolArgs args{.result = result.raw_data(),
                  .channels = shape.channels,
                  .channels_first = shape.channels_first,
                  .rows = PlanOf(shape.rows),
                  .columns = PlanOf(shape.columns),
                  .count = result.NumElements()};
    std::vector<GpuAccess> accesses = {WriteOf(result)};
    if (in != nullptr) {
      args.in = in->raw_data();
      accesses.push_back(ReadOf(*in));
    }
    if (gradient != nullptr) {
      args.gradient = gradient->raw_data();
      accesses.push_back(ReadOf(*gradient));
    }
    return stream.LaunchWith(kernel_, args, accesses);
  }

 private:
  WindowAttrs attrs_;
  GpuKernel kernel_;
};

// MaxPool, MaxPoolV2 and AvgPool.
class ForwardKernel : public PoolKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& in = ctx.input(0);
    ASSIGN_OR_RETURN(const WindowAttrs attrs, this->attrs().WithInputs(ctx, 1));
    ASSIGN_OR_RETURN(const PoolShape shape, PoolShape::Of(attrs, in.shape()));
    ASSIGN_OR_RETURN(const TensorShape out, shape.Output(attrs));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, out));
    return Launch(stream, shape, &in, nullptr, *output);
  }
};

absl::Status CheckShape(const TensorShape& actual, const TensorShape& expected, const char* name) {
  if (actual == expected) return absl::OkStatus();
  return errors::InvalidArgument("Expected ", name, " shape to be ", expected.ToString(), ", but got ",
                                 actual.ToString());
}

class MaxGradKernel : public PoolKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& in = ctx.input(0);
    const Tensor& gradient = ctx.input(2);
    ASSIGN_OR_RETURN(const WindowAttrs attrs, this->attrs().WithInputs(ctx, 3));
    ASSIGN_OR_RETURN(const PoolShape shape, PoolShape::Of(attrs, in.shape()));
    ASSIGN_OR_RETURN(const TensorShape out, shape.Output(attrs));
    RETURN_IF_ERROR(CheckShape(ctx.input(1).shape(), out, "orig_output"));
    RETURN_IF_ERROR(CheckShape(gradient.shape(), out, "grad"));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, in.shape()));
    return Launch(stream, shape, &in, &gradient, *output);
  }
};

class AvgGradKernel : public PoolKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const TensorShape in, ReadShape(ctx.input(0)));
    const Tensor& gradient = ctx.input(1);
    ASSIGN_OR_RETURN(const PoolShape shape, PoolShape::Of(attrs(), in));
    ASSIGN_OR_RETURN(const TensorShape out, shape.Output(attrs()));
    RETURN_IF_ERROR(CheckShape(gradient.shape(), out, "grad"));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, in));
    return Launch(stream, shape, nullptr, &gradient, *output);
  }
};

}  // namespace

absl::Status RegisterGpuPoolKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuFloats); };
  RETURN_IF_ERROR(kernels.Register<ForwardKernel>(kernel("MaxPool")));
  RETURN_IF_ERROR(kernels.Register<ForwardKernel>(kernel("MaxPoolV2").HostMemory("ksize").HostMemory("strides")));
  RETURN_IF_ERROR(kernels.Register<MaxGradKernel>(kernel("MaxPoolGrad")));
  RETURN_IF_ERROR(kernels.Register<MaxGradKernel>(kernel("MaxPoolGradV2").HostMemory("ksize").HostMemory("strides")));
  RETURN_IF_ERROR(kernels.Register<ForwardKernel>(kernel("AvgPool")));
  return kernels.Register<AvgGradKernel>(kernel("AvgPoolGrad").HostMemory("orig_input_shape"));
}

}  // namespace weir
