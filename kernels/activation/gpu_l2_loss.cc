#include <algorithm>

#include "kernels/activation/device.h"
#include "kernels/activation/family.h"
#include "kernels/device/gpu/body_kernel.h"

namespace weir {
namespace {

class L2LossKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    type_ = ctx.input_types()[0];
    ASSIGN_OR_RETURN(part_, FindBody("SquaresPart", type_));
    ASSIGN_OR_RETURN(whole_, FindBody("HalfOfParts", type_));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    constexpr int64_t kPart = 8192, kMaxParts = 1024;  // elements per block, up to kMaxParts blocks
    const Tensor& input = ctx.input(0);
    SquaresArgs args{.in = input.raw_data(),
                     .length = input.NumElements(),
                     .parts = std::clamp<int64_t>(input.NumElements() / kPart, 1, kMaxParts)};
    ASSIGN_OR_RETURN(const Tensor partial,
                     ctx.allocate_temp(type_ == DT_DOUBLE ? DT_DOUBLE : DT_FLOAT, TensorShape({args.parts})));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape()));
    args.partial = partial.raw_data();
    args.out = output->raw_data();
    args.count = args.parts;
    RETURN_IF_ERROR(stream.LaunchWith(part_, args, {ReadOf(input), WriteOf(partial)}));
    args.count = 1;
    return stream.LaunchWith(whole_, args, {ReadOf(partial), WriteOf(*output)});
  }
  DataType type_ = DT_INVALID;
  GpuKernel part_, whole_;
};

}  // namespace

absl::Status RegisterGpuL2LossKernels(KernelRegistry& kernels) {
  return kernels.Register<L2LossKernel>(Kernel("L2Loss").Device(kDeviceGpu).Types("T", kGpuFloats));
}

}  // namespace weir
