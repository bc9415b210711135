// CheckNumerics and its second version.
#include <algorithm>

#include "kernels/array/moving/device.h"
#include "kernels/debug/family.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/reading_kernel.h"

namespace weir {
namespace {

class CheckNumericsKernel : public ReadingGpuKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("message", &message_));
    tells_signs_ = ctx.op() == "CheckNumericsV2";
    ASSIGN_OR_RETURN(part_, FindBody("NumericFlags", ctx.input_types()[0]));
    ASSIGN_OR_RETURN(whole_, FindBody("AllFlags", DT_INT64));
    return absl::OkStatus();
  }

  absl::StatusOr<Begun> Begin(OpKernelContext& ctx, GpuStream& stream) override {
    constexpr int64_t kPart = 4096, kMaxParts = 1024;
    const Tensor& input = ctx.input(0);
    Begun begun{.to_read = Tensor(DT_INT64, TensorShape({0}))};
    if (input.NumElements() == 0) return begun;
    NumericFlagsArgs args{.in = input.raw_data(),
                          .length = input.NumElements(),
                          .parts = std::clamp<int64_t>(input.NumElements() / kPart, 1, kMaxParts)};
    ASSIGN_OR_RETURN(Tensor partial, ctx.allocate_temp(DT_INT64, TensorShape({args.parts})));
    ASSIGN_OR_RETURN(begun.to_read, ctx.allocate_temp(DT_INT64, TensorShape({1})));
    args.partial = partial.data<int64_t>();
    args.out = begun.to_read.data<int64_t>();
    args.count = args.parts;
    RETURN_IF_ERROR(stream.LaunchWith(part_, args, {ReadOf(input), WriteOf(partial)}));
    args.count = 1;
    RETURN_IF_ERROR(stream.LaunchWith(whole_, args, {ReadOf(partial), WriteOf(begun.to_read)}));
    return begun;
  }

  absl::Status Finish(OpKernelContext& ctx, GpuStream&, const Tensor& read, const std::vector<Tensor>&) override {
    const int64_t flags = read.NumElements() == 0 ? 0 : read.data<int64_t>()[0];
    if (flags == 0) {
      ctx.set_output(0, ctx.input(0));
      return absl::OkStatus();
    }
    return errors::InvalidArgument(message_, " : Tensor had ", Found(flags), " values");
  }

  std::string Found(int64_t flags) const {
    const bool low = flags & kHasNegativeInfinity, high = flags & kHasInfinity, nan = flags & kHasNaN;
    if (!tells_signs_) return low || high ? (nan ? "Inf and NaN" : "Inf") : "NaN";
    if (low && high && nan) return "-Inf, +Inf, and NaN";
    std::string found = low ? "-Inf" : "";
    if (high) found += low ? " and +Inf" : "+Inf";
    if (nan) found += found.empty() ? "NaN" : " and NaN";
    return found;
  }

  std::string message_;
  bool tells_signs_ = false;
  GpuKernel part_, whole_;
};

}  // namespace

absl::Status RegisterGpuCheckNumericsKernels(KernelRegistry& kernels) {
  for (const char* op : {"CheckNumerics", "CheckNumericsV2"}) {
    RETURN_IF_ERROR(kernels.Register<CheckNumericsKernel>(Kernel(op).Device(kDeviceGpu).Types("T", kGpuFloats)));
  }
  return absl::OkStatus();
}

}  // namespace weir
