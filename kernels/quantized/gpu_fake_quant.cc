// Fake quantisation and its gradients.
#include "absl/strings/match.h"
#include "kernels/array/moving/device.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/elementwise/args_pairwise.h"
#include "kernels/quantized/args_fake_quant.h"
#include "kernels/quantized/family.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

// The range is attributes, an input, or one for each element of the last dimension. Inputs of a gradient: that of the
// output, then those of the op.
class FakeQuantKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    const std::string& op = ctx.op();
    is_gradient_ = absl::EndsWith(op, "Gradient");
    has_range_ = absl::StrContains(op, "Vars");
    per_channel_ = absl::StrContains(op, "PerChannel");
    RETURN_IF_ERROR(attrs_.Read(ctx));
    ASSIGN_OR_RETURN(kernel_, FindBody(is_gradient_ ? "FakeQuantGrad" : "FakeQuant", DT_FLOAT));
    ASSIGN_OR_RETURN(range_, FindBody("FakeQuantRange", DT_FLOAT));
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const int first = is_gradient_ ? 1 : 0;
    const Tensor& input = ctx.input(first);
    FakeQuantArgs args{.x = input.data<float>(),
                       .low = attrs_.low,
                       .high = attrs_.high,
                       .bits = attrs_.bits,
                       .narrow = attrs_.narrow,
                       .by_division = has_range_ && !per_channel_,
                       .depth = 1,
                       .count = input.NumElements()};
    std::vector<GpuAccess> accesses = {ReadOf(input)};
    if (has_range_) {
      ASSIGN_OR_RETURN(args.depth, CheckQuantRange(ctx, first, per_channel_));
      args.lows = ctx.input(first + 1).data<float>();
      args.highs = ctx.input(first + 2).data<float>();
      accesses.push_back(ReadOf(ctx.input(first + 1)));
      accesses.push_back(ReadOf(ctx.input(first + 2)));
    } else if (is_gradient_) {
      RETURN_IF_ERROR(CheckSameShape(ctx.node_def().name(), ctx.node_def().op(), ctx.input(0), input));
    }
    if (is_gradient_) {
      args.gradient = ctx.input(0).data<float>();
      accesses.push_back(ReadOf(ctx.input(0)));
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    if (args.count > 0) {
      args.out = output->data<float>();
      RETURN_IF_ERROR(Launch(stream, kernel_, args, accesses, *output));
    }
    if (!is_gradient_ || !has_range_ || args.depth == 0) return absl::OkStatus();
    args.length = args.count / args.depth;
    args.count = args.depth;
    for (int end : {1, 2}) {
      ASSIGN_OR_RETURN(Tensor * sums, ctx.allocate_output(end, ctx.input(first + 1).shape()));
      args.above = end == 2;
      args.out = sums->data<float>();
      RETURN_IF_ERROR(Launch(stream, range_, args, accesses, *sums));
    }
    return absl::OkStatus();
  }

  static absl::Status Launch(GpuStream& stream, const GpuKernel& kernel, const FakeQuantArgs& args,
                             std::vector<GpuAccess> accesses, const Tensor& output) {
    accesses.push_back(WriteOf(output));
    return stream.LaunchWith(kernel, args, accesses);
  }

  bool is_gradient_ = false, has_range_ = false, per_channel_ = false;
  QuantAttrs attrs_;
  GpuKernel kernel_, range_;
};

}  // namespace

absl::Status RegisterGpuQuantKernels(KernelRegistry& kernels) {
  for (const char* what : {"Args", "Vars", "VarsPerChannel"}) {
    for (const char* gradient : {"", "Gradient"}) {
      RETURN_IF_ERROR(kernels.Register<FakeQuantKernel>(
          Kernel(absl::StrCat("FakeQuantWithMinMax", what, gradient)).Device(kDeviceGpu)));
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
