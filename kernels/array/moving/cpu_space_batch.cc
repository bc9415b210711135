// Blocks of spatial dimensions moved into the batch (SpaceToBatch), into the channels (SpaceToDepth), and back.
#include <algorithm>

#include "kernels/array/family.h"
#include "kernels/array/moving/args_space_batch.h"
#include "kernels/device/elements.h"

namespace weir {
namespace {

// Copies between `image` [batch, spatial..., rest] and `blocked` [batch * blocks, spatial..., rest], one block offset
// at a time: element p of an image dimension is element (p + before - offset) / block of the blocked one.
template <bool kToBatch>
void MoveBlocks(OpKernelContext& ctx, DataType type, const SpaceBlocks& problem, const TensorShape& image,
                const TensorShape& blocked, char* image_data, char* blocked_data) {
  const int n = static_cast<int>(problem.sizes.size()), rank = image.dims();
  const int64_t width = static_cast<int64_t>(DataTypeSize(type)), batch = image.dim_size(0);
  const DimVector image_steps = DenseSteps(image.dim_sizes()), blocked_steps = DenseSteps(blocked.dim_sizes());
  for (int64_t block = 0; block < problem.elements; ++block) {
    DimVector sizes(image.dim_sizes().begin(), image.dim_sizes().end()), steps = image_steps;
    int64_t image_at = 0, blocked_at = block * batch * blocked_steps[0], rest = block;
    for (int d = n; d >= 1; --d) {
      const int64_t size = problem.sizes[d - 1], offset = rest % size, before = problem.before[d - 1];
      rest /= size;
      // The first blocked element whose image element is not padding.
      const int64_t first = before > offset ? (before - offset + size - 1) / size : 0;
      const int64_t start = first * size + offset - before;
      const int64_t room = image.dim_size(d) - start;
      sizes[d] = room <= 0 ? 0 : std::min((room - 1) / size + 1, std::max<int64_t>(0, blocked.dim_size(d) - first));
      image_at += start * image_steps[d];
      blocked_at += first * blocked_steps[d];
      steps[d] = image_steps[d] * size;
    }
    if (std::find(sizes.begin(), sizes.begin() + rank, 0) != sizes.end()) continue;
    char* const at_image = image_data + image_at * width;
    char* const at_blocked = blocked_data + blocked_at * width;
    if (kToBatch) {
      StridedCopy(ctx, type, sizes, at_image, steps, at_blocked, blocked_steps);
    } else {
      StridedCopy(ctx, type, sizes, at_blocked, blocked_steps, at_image, steps);
    }
  }
}

// SpaceToBatch and SpaceToBatchND.
class SpaceToBatchKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(block_size_, ReadBlockSize(ctx));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const SpaceBlocks blocks, ReadSpaceToBatch(ctx, block_size_));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, blocks.output));
    if (output->NumElements() == 0) return absl::OkStatus();
    ZeroElements(output->dtype(), output->raw_data(), output->NumElements());
    if (input.NumElements() == 0) return absl::OkStatus();
    MoveBlocks<true>(ctx, output->dtype(), blocks, input.shape(), blocks.output, static_cast<char*>(input.raw_data()),
                     static_cast<char*>(output->raw_data()));
    return absl::OkStatus();
  }

 private:
  int64_t block_size_ = 0;
};

// BatchToSpace and BatchToSpaceND.
class BatchToSpaceKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(block_size_, ReadBlockSize(ctx));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const SpaceBlocks blocks, ReadBatchToSpace(ctx, block_size_));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, blocks.output));
    if (output->NumElements() == 0) return absl::OkStatus();
    MoveBlocks<false>(ctx, output->dtype(), blocks, blocks.output, input.shape(),
                      static_cast<char*>(output->raw_data()), static_cast<char*>(input.raw_data()));
    return absl::OkStatus();
  }

 private:
  int64_t block_size_ = 0;
};

// SpaceToDepth and DepthToSpace.
template <bool kToDepth>
class DepthKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(blocks_, DepthBlocks::Of(ctx, kToDepth));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const DepthBlocks::Copy copy, blocks_.CopyOf(input.shape()));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, copy.output));
    if (output->NumElements() == 0) return absl::OkStatus();
    StridedCopy(ctx, output->dtype(), copy.sizes, input.raw_data(), copy.from_steps, output->raw_data(), copy.to_steps);
    return absl::OkStatus();
  }

 private:
  DepthBlocks blocks_;
};

}  // namespace

absl::Status RegisterSpaceBatchKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<SpaceToBatchKernel>(
      Kernel("SpaceToBatchND").Cpu().HostMemory("block_shape").HostMemory("paddings")));
  RETURN_IF_ERROR(kernels.Register<SpaceToBatchKernel>(Kernel("SpaceToBatch").Cpu().HostMemory("paddings")));
  RETURN_IF_ERROR(kernels.Register<BatchToSpaceKernel>(
      Kernel("BatchToSpaceND").Cpu().HostMemory("block_shape").HostMemory("crops")));
  RETURN_IF_ERROR(kernels.Register<BatchToSpaceKernel>(Kernel("BatchToSpace").Cpu().HostMemory("crops")));
  RETURN_IF_ERROR(kernels.Register<DepthKernel<true>>(Kernel("SpaceToDepth").Cpu()));
  return kernels.Register<DepthKernel<false>>(Kernel("DepthToSpace").Cpu());
}

}  // namespace weir
