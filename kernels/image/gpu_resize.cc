// Images resized, and the gradients of that.
#include "absl/strings/match.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/image/args_resize.h"
#include "kernels/image/device.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

// ResizeBilinear, ResizeNearestNeighbor, and their gradients: of images, or of a size.
class ResizeKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    const std::string& op = ctx.op();
    is_gradient_ = absl::EndsWith(op, "Grad");
    is_nearest_ = absl::StartsWith(op, "ResizeNearest");
    if (is_nearest_ && !is_gradient_) {
      ASSIGN_OR_RETURN(kernel_, FindMove(op, ctx.input_types()[0]));
    } else {
      ASSIGN_OR_RETURN(kernel_, FindBody(op, is_gradient_ ? ctx.output_types()[0] : ctx.input_types()[0]));
    }
    return attrs_.Read(ctx);
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const TensorShape shape, OutputShape(ctx));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    const TensorShape& original = is_gradient_ ? shape : input.shape();
    const TensorShape& resized = is_gradient_ ? input.shape() : shape;
    const auto grid = [&](int d) {
      return ResizeGrid::Of(original.dim_size(d), resized.dim_size(d), attrs_.corners, attrs_.centers);
    };
    return stream.LaunchWith(kernel_,
                             ResizeArgs{.in = input.raw_data(),
                                        .out = output->raw_data(),
                                        .channels = shape.dim_size(3),
                                        .rows = grid(1),
                                        .columns = grid(2),
                                        .count = output->NumElements()},
                             {ReadOf(input), WriteOf(*output)});
  }

  absl::StatusOr<TensorShape> OutputShape(OpKernelContext& ctx) const {
    const TensorShape& in = ctx.input(0).shape();
    if (is_gradient_) return is_nearest_ ? OriginalOfSize(in, ctx.input(1)) : OriginalOf(in, ctx.input(1));
    RETURN_IF_ERROR(CheckResized(in));
    ASSIGN_OR_RETURN(const auto size, ReadImageSize(ctx.input(1)));
    return TensorShape::Build({in.dim_size(0), size.first, size.second, in.dim_size(3)});
  }

  bool is_gradient_ = false, is_nearest_ = false;
  ResizeAttrs attrs_;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuResizeKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu); };
  RETURN_IF_ERROR(kernels.Register<ResizeKernel>(kernel("ResizeBilinear").Types("T", kGpuFloats).HostMemory("size")));
  RETURN_IF_ERROR(kernels.Register<ResizeKernel>(kernel("ResizeBilinearGrad").Types("T", kGpuFloats)));
  const DataTypeVector moved = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64};
  RETURN_IF_ERROR(kernels.Register<ResizeKernel>(kernel("ResizeNearestNeighbor").Types("T", moved).HostMemory("size")));
  // Of the types that the op allows.
  const DataTypeVector floats = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16};
  RETURN_IF_ERROR(
      kernels.Register<ResizeKernel>(kernel("ResizeNearestNeighborGrad").Types("T", floats).HostMemory("size")));
  return absl::OkStatus();
}

}  // namespace weir
