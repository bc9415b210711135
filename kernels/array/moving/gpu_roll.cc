// Roll, ReverseSequence and MirrorPadGrad.
#include <algorithm>

#include "kernels/array/family.h"
#include "kernels/array/moving/args_move.h"
#include "kernels/array/moving/args_pad.h"
#include "kernels/array/moving/device.h"
#include "kernels/device/dense_steps.h"
#include "kernels/device/gpu/body_kernel.h"

namespace weir {
namespace {

class RollKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(kernel_, FindMove("Roll", ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const DimVector shifts, ReadShifts(input.shape(), ctx.input(1), ctx.input(2)));
    RollArgs args{.in = input.raw_data(), .rank = 0, .count = input.NumElements()};
    // Neighbouring dimensions without a shift are collapsed.
    bool last_stays = false;
    for (int d = 0; d < input.dims(); ++d) {
      const bool stays = shifts[d] == 0;
      if (stays && last_stays) {
        args.sizes[args.rank - 1] *= input.dim_size(d);
      } else if (args.rank == kMaxBodyRank) {
        return errors::Unimplemented("There is no GPU kernel that rolls as many dimensions of ",
                                     input.shape().ToString(), "; at most ", kMaxBodyRank);
      } else {
        args.sizes[args.rank] = input.dim_size(d);
        args.shifts[args.rank++] = shifts[d];
      }
      last_stays = stays;
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    if (args.count == 0) return absl::OkStatus();
    args.out = output->raw_data();
    return stream.LaunchWith(kernel_, args, {ReadOf(input), WriteOf(*output)});
  }
  GpuKernel kernel_;
};

// The lengths stay on the device: their values are not checked.
class ReverseSequenceKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("seq_dim", &seq_dim_));
    RETURN_IF_ERROR(ctx.GetAttr("batch_dim", &batch_dim_));
    ASSIGN_OR_RETURN(kernel_, FindMove("ReverseSequence", ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    const Tensor& lengths = ctx.input(1);
    RETURN_IF_ERROR(CheckSequences(input.shape(), lengths.shape(), seq_dim_, batch_dim_));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    if (output->NumElements() == 0) return absl::OkStatus();
    const int sequence = static_cast<int>(seq_dim_), batch = static_cast<int>(batch_dim_);
    return stream.LaunchWith(kernel_,
                             ReverseSequenceArgs{.in = input.raw_data(),
                                                 .lengths = lengths.raw_data(),
                                                 .wide_lengths = lengths.dtype() == DT_INT64,
                                                 .out = output->raw_data(),
                                                 .sequence = input.dim_size(sequence),
                                                 .sequence_step = CountBehind(input.shape(), sequence),
                                                 .batch = input.dim_size(batch),
                                                 .batch_step = CountBehind(input.shape(), batch),
                                                 .count = output->NumElements()},
                             {ReadOf(input), ReadOf(lengths), WriteOf(*output)});
  }
  int64_t seq_dim_ = 0, batch_dim_ = 0;
  GpuKernel kernel_;
};

// Folds the frame back, one dimension after the other.
class MirrorPadGradKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    std::string mode;
    RETURN_IF_ERROR(ctx.GetAttr("mode", &mode));
    symmetric_ = mode == "SYMMETRIC";
    ASSIGN_OR_RETURN(kernel_, FindBody("MirrorFold", ctx.input_types()[0]));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    Tensor current = ctx.input(0);
    ASSIGN_OR_RETURN(const DimVector paddings, ReadPaddings(ctx.input(1), current.shape()));
    for (int d = current.dims() - 1; d >= 0; --d) {
      const int64_t wide = current.dim_size(d), before = paddings[2 * d], after = paddings[2 * d + 1];
      if (before == 0 && after == 0) continue;
      ASSIGN_OR_RETURN(const int64_t n, MirroredSize(wide, before, after, symmetric_));
      TensorShape shape = current.shape();
      RETURN_IF_ERROR(shape.SetDim(d, n));
      ASSIGN_OR_RETURN(Tensor next, ctx.allocate_temp(current.dtype(), shape));
      if (next.NumElements() > 0) {
        RETURN_IF_ERROR(stream.LaunchWith(kernel_,
                                          MirrorFoldArgs{.in = current.raw_data(),
                                                         .out = next.raw_data(),
                                                         .n = n,
                                                         .before = before,
                                                         .wide = wide,
                                                         .inner = CountBehind(shape, d),
                                                         .edge = symmetric_ ? 0 : 1,
                                                         .count = next.NumElements()},
                                          {ReadOf(current), WriteOf(next)}));
      }
      current = std::move(next);
    }
    ctx.set_output(0, std::move(current));
    return absl::OkStatus();
  }
  bool symmetric_ = false;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuRollKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuMoved); };
  RETURN_IF_ERROR(kernels.Register<RollKernel>(kernel("Roll").HostMemory("shift").HostMemory("axis")));
  RETURN_IF_ERROR(kernels.Register<ReverseSequenceKernel>(kernel("ReverseSequence")));
  return kernels.Register<MirrorPadGradKernel>(Kernel("MirrorPadGrad")
                                                   .Device(kDeviceGpu)
                                                   .Types("T", {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT64})
                                                   .HostMemory("paddings"));
}

}  // namespace weir
