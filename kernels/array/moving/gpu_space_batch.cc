// Blocks of spatial dimensions moved into the batch (SpaceToBatch), into the channels (SpaceToDepth), and back.
#include "kernels/array/family.h"
#include "kernels/array/moving/args_space_batch.h"
#include "kernels/array/moving/device_move.h"
#include "kernels/device/dense_steps.h"
#include "kernels/device/gpu/strided_source.h"

namespace weir {
namespace {

// [batch, blocked dimensions…, the rest as one].
absl::StatusOr<TensorShape> JoinRest(const TensorShape& shape, size_t blocked) {
  const int kept = static_cast<int>(blocked) + 1;
  DimVector dims(shape.dim_sizes().begin(), shape.dim_sizes().begin() + kept);
  dims.push_back(CountBehind(shape, kept - 1));
  return TensorShape::Build(dims);
}

// The blocks' places before [batch, blocked dimensions…, rest]: where the elements of a blocked batch lie in an image
// of `image`, padded, that has whole blocks.
struct BlockedOrder {
  BlockedOrder(const TensorShape& image, const DimVector& blocks) {
    const int n = static_cast<int>(blocks.size());
    const DimVector dense = DenseSteps(image.dim_sizes());
    for (int d = 0; d < n; ++d) Add(blocks[d], dense[d + 1]);
    Add(image.dim_size(0), dense[0]);
    for (int d = 0; d < n; ++d) Add(image.dim_size(d + 1) / blocks[d], dense[d + 1] * blocks[d]);
    Add(image.dim_size(n + 1), dense[n + 1]);
  }
  void Add(int64_t size, int64_t step) {
    sizes.push_back(size);
    steps.push_back(step);
  }
  DimVector sizes, steps;
};

// `shape` with the frame of paddings or crops added.
absl::StatusOr<TensorShape> Framed(const TensorShape& shape, const SpaceBlocks& blocks) {
  TensorShape framed = shape;
  for (size_t d = 0; d < blocks.sizes.size(); ++d) {
    const int at = static_cast<int>(d) + 1;
    RETURN_IF_ERROR(framed.SetDim(at, shape.dim_size(at) + blocks.before[d] + blocks.after[d]));
  }
  return framed;
}

class BlocksKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(block_size_, ReadBlockSize(ctx));
    ASSIGN_OR_RETURN(pad_, FindMove("Pad", ctx.input_types()[0]));
    return absl::OkStatus();
  }
  static absl::Status CheckRank(const SpaceBlocks& blocks) {
    if (blocks.sizes.size() + 2 <= kMaxBodyRank) return absl::OkStatus();
    return errors::Unimplemented("GPU kernels block at most ", kMaxBodyRank - 2, " dimensions, not ",
                                 blocks.sizes.size());
  }

  int64_t block_size_ = 0;
  GpuKernel pad_;
};

class SpaceToBatchKernel : public BlocksKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const SpaceBlocks blocks, ReadSpaceToBatch(ctx, block_size_));
    RETURN_IF_ERROR(CheckRank(blocks));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, blocks.output));
    if (output->NumElements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const TensorShape inner, JoinRest(input.shape(), blocks.sizes.size()));
    ASSIGN_OR_RETURN(const TensorShape shape, Framed(inner, blocks));
    ASSIGN_OR_RETURN(const Tensor padded, Pad(ctx, stream, blocks, inner, shape));
    const BlockedOrder order(shape, blocks.sizes);
    return WriteStrided(stream, {.input = padded, .steps = order.steps, .sizes = order.sizes, .shape = blocks.output},
                        *output);
  }

  // Input 0, of shape `inner`, within zeros.
  absl::StatusOr<Tensor> Pad(OpKernelContext& ctx, GpuStream& stream, const SpaceBlocks& blocks,
                             const TensorShape& inner, const TensorShape& shape) const {
    const Tensor& input = ctx.input(0);
    if (inner == shape) return input;
    ASSIGN_OR_RETURN(Tensor padded, ctx.allocate_temp(input.dtype(), shape));
    PadArgs args{.in = input.raw_data(), .out = padded.raw_data(), .rank = shape.dims(), .count = padded.NumElements()};
    const DimVector steps = DenseSteps(inner.dim_sizes());
    for (int d = 0; d < shape.dims(); ++d) {
      const bool is_blocked = d > 0 && d + 1 < shape.dims();
      args.dims[d] = {inner.dim_size(d), is_blocked ? blocks.before[d - 1] : 0, shape.dim_size(d),
                      PaddedDim::Frame::kValue};
      args.steps[d] = steps[d];
    }
    RETURN_IF_ERROR(stream.LaunchWith(pad_, args, {ReadOf(input), WriteOf(padded)}));
    return padded;
  }
};

class BatchToSpaceKernel : public BlocksKernel {
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const SpaceBlocks blocks, ReadBatchToSpace(ctx, block_size_));
    RETURN_IF_ERROR(CheckRank(blocks));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, blocks.output));
    if (output->NumElements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const TensorShape inner, JoinRest(blocks.output, blocks.sizes.size()));
    ASSIGN_OR_RETURN(const TensorShape shape, Framed(inner, blocks));
    const BlockedOrder order(shape, blocks.sizes);
    const DimVector dense = DenseSteps(order.sizes);
    if (inner == shape) {
      return StoreStrided(stream, input, dense, order.sizes,
                          {.tensor = *output, .sizes = order.sizes, .steps = order.steps});
    }
    ASSIGN_OR_RETURN(const Tensor whole, ctx.allocate_temp(input.dtype(), shape));
    RETURN_IF_ERROR(
        StoreStrided(stream, input, dense, order.sizes, {.tensor = whole, .sizes = order.sizes, .steps = order.steps}));
    StridedSource cropped{.input = whole,
                          .steps = DenseSteps(shape.dim_sizes()),
                          .sizes = DimVector(inner.dim_sizes().begin(), inner.dim_sizes().end()),
                          .shape = blocks.output};
    for (size_t d = 0; d < blocks.sizes.size(); ++d) cropped.offset += blocks.before[d] * cropped.steps[d + 1];
    return WriteStrided(stream, cropped, *output);
  }
};

template <bool kToDepth>
class DepthKernel : public GpuOpKernel {
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(blocks_, DepthBlocks::Of(ctx, kToDepth));
    return absl::OkStatus();
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    ASSIGN_OR_RETURN(const DepthBlocks::Copy copy, blocks_.CopyOf(ctx.input(0).shape()));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, copy.output));
    return StoreStrided(stream, ctx.input(0), copy.from_steps, copy.sizes,
                        {.tensor = *output, .sizes = copy.sizes, .steps = copy.to_steps});
  }
  DepthBlocks blocks_;
};

}  // namespace

absl::Status RegisterGpuSpaceBatchKernels(KernelRegistry& kernels) {
  const auto kernel = [](const char* op) { return Kernel(op).Device(kDeviceGpu).Types("T", kGpuMoved); };
  RETURN_IF_ERROR(
      kernels.Register<SpaceToBatchKernel>(kernel("SpaceToBatchND").HostMemory("block_shape").HostMemory("paddings")));
  RETURN_IF_ERROR(kernels.Register<SpaceToBatchKernel>(kernel("SpaceToBatch").HostMemory("paddings")));
  RETURN_IF_ERROR(
      kernels.Register<BatchToSpaceKernel>(kernel("BatchToSpaceND").HostMemory("block_shape").HostMemory("crops")));
  RETURN_IF_ERROR(kernels.Register<BatchToSpaceKernel>(kernel("BatchToSpace").HostMemory("crops")));
  RETURN_IF_ERROR(kernels.Register<DepthKernel<true>>(kernel("SpaceToDepth")));
  return kernels.Register<DepthKernel<false>>(kernel("DepthToSpace"));
}

}  // namespace weir
