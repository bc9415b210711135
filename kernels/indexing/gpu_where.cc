// What depends on values: Where, and CheckNumerics with its second version.
#include <algorithm>

#include "kernels/array/moving/device.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/reading_kernel.h"
#include "kernels/indexing/family.h"
#include "kernels/reduction/device_order.h"

namespace weir {
namespace {

// Counts first, so that the output can be allocated, and each block knows where its coordinates go.
class WhereKernel : public ReadingGpuKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(count_, FindBody("CountNonZero", ctx.input_types()[0]));
    ASSIGN_OR_RETURN(write_, FindBody("WriteNonZero", ctx.input_types()[0]));
    ASSIGN_OR_RETURN(add_up_, FindBody("Cumsum", DT_INT64));
    ASSIGN_OR_RETURN(sum_, FindBody("Sum", DT_INT64));
    return absl::OkStatus();
  }

  absl::StatusOr<Begun> Begin(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    if (input.dims() == 0) return errors::InvalidArgument("WhereOp : Unhandled input dimensions: 0");
    if (input.dims() > kMaxBodyRank) {
      return errors::Unimplemented("There is no GPU kernel for Where of ", input.dims(), " dimensions; at most ",
                                   kMaxBodyRank);
    }
    Begun begun{.to_read = Tensor(DT_INT64, TensorShape({0}))};
    const int64_t blocks = (input.NumElements() + kNonZeroBlock - 1) / kNonZeroBlock;
    if (blocks == 0) return begun;
    ASSIGN_OR_RETURN(Tensor counts, ctx.allocate_temp(DT_INT64, TensorShape({blocks})));
    ASSIGN_OR_RETURN(const Tensor totals, ctx.allocate_temp(DT_INT64, TensorShape({blocks})));
    ASSIGN_OR_RETURN(begun.to_read, ctx.allocate_temp(DT_INT64, TensorShape({1})));
    NonZeroArgs args = ArgsOf(input, blocks);
    args.counts = counts.data<int64_t>();
    RETURN_IF_ERROR(stream.LaunchWith(count_, args, {ReadOf(input), WriteOf(counts)}));
    const ScanArgs scan{.in = counts.raw_data(), .out = totals.raw_data(), .length = blocks, .inner = 1, .count = 1};
    RETURN_IF_ERROR(stream.LaunchWith(add_up_, scan, {ReadOf(counts), WriteOf(totals)}));
    FoldArgs fold{.in = counts.raw_data(), .out = begun.to_read.raw_data(), .length = blocks, .count = 1};
    ASSIGN_OR_RETURN(fold.folded, LayoutOf({blocks}, {1}));
    RETURN_IF_ERROR(stream.LaunchWith(sum_, fold, {ReadOf(counts), WriteOf(begun.to_read)}));
    begun.kept = {totals};
    return begun;
  }

  absl::Status Finish(OpKernelContext& ctx, GpuStream& stream, const Tensor& read,
                      const std::vector<Tensor>& kept) override {
    const Tensor& input = ctx.input(0);
    const int64_t found = read.NumElements() == 0 ? 0 : read.data<int64_t>()[0];
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({found, input.dims()})));
    if (found == 0) return absl::OkStatus();
    const Tensor& totals = kept[0];
    NonZeroArgs args = ArgsOf(input, totals.NumElements());
    args.totals = totals.data<int64_t>();
    args.out = output->data<int64_t>();
    return stream.LaunchWith(write_, args, {ReadOf(input), ReadOf(totals), WriteOf(*output)});
  }

  static NonZeroArgs ArgsOf(const Tensor& input, int64_t blocks) {
    NonZeroArgs args{.in = input.raw_data(), .length = input.NumElements(), .rank = input.dims(), .count = blocks};
    for (int d = 0; d < input.dims(); ++d) args.sizes[d] = input.dim_size(d);
    return args;
  }

  GpuKernel count_, write_, add_up_, sum_;
};

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

absl::Status RegisterGpuWhereKernels(KernelRegistry& kernels) {
  const DataTypeVector types = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT32, DT_INT64, DT_BOOL};
  RETURN_IF_ERROR(kernels.Register<WhereKernel>(Kernel("Where").Device(kDeviceGpu).Types("T", types)));
  for (const char* op : {"CheckNumerics", "CheckNumericsV2"}) {
    RETURN_IF_ERROR(kernels.Register<CheckNumericsKernel>(Kernel(op).Device(kDeviceGpu).Types("T", kGpuFloats)));
  }
  return absl::OkStatus();
}

}  // namespace weir
