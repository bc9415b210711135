// Where: the coordinates of elements that are not zero.
#include "kernels/array/moving/device.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/device/gpu/reading_kernel.h"
#include "kernels/indexing/family.h"
#include "kernels/reduction/device_order.h"

namespace weir {
namespace {

// Counts first: the count is the size of the output, and tells each block the first row it writes.
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

}  // namespace

absl::Status RegisterGpuWhereKernels(KernelRegistry& kernels) {
  const DataTypeVector types = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT32, DT_INT64, DT_BOOL};
  return kernels.Register<WhereKernel>(Kernel("Where").Device(kDeviceGpu).Types("T", types));
}

}  // namespace weir
