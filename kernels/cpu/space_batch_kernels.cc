// Blocks of spatial dimensions moved into the batch (SpaceToBatch), into the channels (SpaceToDepth), and back.
#include <algorithm>

#include "core/index_tensor.h"
#include "kernels/cpu/elements.h"
#include "kernels/cpu/numeric_families.h"

namespace weir {
namespace {

// What lies between the padded (or cropped) image and the batch of blocks.
struct BlockProblem {
  DimVector blocks, before, after;  // one for each blocked dimension
};

absl::Status CheckBlocks(const BlockProblem& problem, const char* amounts) {
  for (size_t i = 0; i < problem.blocks.size(); ++i) {
    if (problem.blocks[i] < 1)
      return errors::InvalidArgument("All values in block_shape must be positive, got value, ", problem.blocks[i],
                                     " at index ", i, ".");
    if (problem.before[i] < 0 || problem.after[i] < 0) {
      return errors::InvalidArgument(amounts[0] == 'c' ? "Crops" : "Paddings", " must be non-negative");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<DimVector> BlockShapeInput(const Tensor& tensor) {
  if (tensor.dims() != 1) {
    return errors::InvalidArgument("block_shape rank should be 1 instead of ", tensor.dims());
  }
  return ReadIntegers(tensor);
}

// Inputs: image, block shape (or an attribute block_size), paddings or crops.
absl::StatusOr<BlockProblem> ReadProblem(OpKernelContext& ctx, int64_t block_size, const char* amounts) {
  BlockProblem problem;
  const Tensor& around = ctx.input(ctx.num_inputs() - 1);
  if (block_size > 0) {
    problem.blocks = {block_size, block_size};
  } else {
    ASSIGN_OR_RETURN(problem.blocks, BlockShapeInput(ctx.input(1)));
  }
  const int64_t n = static_cast<int64_t>(problem.blocks.size());
  if (around.dims() != 2 || around.dim_size(0) != n || around.dim_size(1) != 2) {
    return errors::InvalidArgument(amounts, " should have shape [", n, ", 2] instead of ", around.shape().ToString());
  }
  if (ctx.input(0).dims() < 1 + n) {
    return errors::InvalidArgument("input rank should be >= ", 1 + n, " instead of ", ctx.input(0).dims());
  }
  ASSIGN_OR_RETURN(const DimVector values, ReadIntegers(around));
  for (int64_t i = 0; i < n; ++i) {
    problem.before.push_back(values[2 * i]);
    problem.after.push_back(values[2 * i + 1]);
  }
  RETURN_IF_ERROR(CheckBlocks(problem, amounts));
  return problem;
}

absl::StatusOr<int64_t> BlockElements(const DimVector& blocks) {
  int64_t product = 1;
  for (int64_t block : blocks) product = MultiplyWithoutOverflow(product, block);
  if (product < 0) return errors::InvalidArgument("Product of block sizes must fit int64");
  return product;
}

// Copies between `image` [batch, spatial..., rest] and `blocked` [batch * blocks, spatial..., rest], one block offset
// at a time: element p of an image dimension is element (p + before - offset) / block of the blocked one.
template <bool kToBatch>
void MoveBlocks(OpKernelContext& ctx, DataType type, const BlockProblem& problem, const TensorShape& image,
                const TensorShape& blocked, char* image_data, char* blocked_data, int64_t block_elements) {
  const int n = static_cast<int>(problem.blocks.size()), rank = image.dims();
  const int64_t width = static_cast<int64_t>(DataTypeSize(type)), batch = image.dim_size(0);
  const DimVector image_steps = DenseSteps(image.dim_sizes()), blocked_steps = DenseSteps(blocked.dim_sizes());
  for (int64_t block = 0; block < block_elements; ++block) {
    DimVector sizes(image.dim_sizes().begin(), image.dim_sizes().end()), steps = image_steps;
    int64_t image_at = 0, blocked_at = block * batch * blocked_steps[0], rest = block;
    for (int d = n; d >= 1; --d) {
      const int64_t size = problem.blocks[d - 1], offset = rest % size, before = problem.before[d - 1];
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
    if (!ctx.HasAttr("block_size")) return absl::OkStatus();
    RETURN_IF_ERROR(ctx.GetAttr("block_size", &block_size_));
    if (block_size_ > 1) return absl::OkStatus();
    return errors::InvalidArgument("Block size should be > 1: ", block_size_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (block_size_ > 0 && input.dims() != 4) {
      return errors::InvalidArgument("Input rank should be: 4 instead of: ", input.dims());
    }
    ASSIGN_OR_RETURN(const BlockProblem problem, ReadProblem(ctx, block_size_, "paddings"));
    ASSIGN_OR_RETURN(const int64_t elements, BlockElements(problem.blocks));
    DimVector dims(input.shape().dim_sizes().begin(), input.shape().dim_sizes().end());
    dims[0] = MultiplyWithoutOverflow(dims[0], elements);
    if (dims[0] < 0)
      return errors::InvalidArgument("Negative output dimension size caused by overflow when multiplying ",
                                     input.dim_size(0), " and ", elements);
    for (size_t i = 0; i < problem.blocks.size(); ++i) {
      int64_t& size = dims[i + 1];
      if (__builtin_add_overflow(size, problem.before[i], &size) ||
          __builtin_add_overflow(size, problem.after[i], &size)) {
        return errors::InvalidArgument("paddings are out of range");
      }
      if (size % problem.blocks[i] != 0) {
        return errors::InvalidArgument("padded_shape[", i, "]=", size, " is not divisible by block_shape[", i,
                                       "]=", problem.blocks[i]);
      }
      size /= problem.blocks[i];
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(dims));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    ZeroElements(output->dtype(), output->raw_data(), output->NumElements());
    if (input.NumElements() == 0) return absl::OkStatus();
    MoveBlocks<true>(ctx, output->dtype(), problem, input.shape(), shape, static_cast<char*>(input.raw_data()),
                     static_cast<char*>(output->raw_data()), elements);
    return absl::OkStatus();
  }

 private:
  int64_t block_size_ = 0;
};

// BatchToSpace and BatchToSpaceND.
class BatchToSpaceKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    if (!ctx.HasAttr("block_size")) return absl::OkStatus();
    RETURN_IF_ERROR(ctx.GetAttr("block_size", &block_size_));
    if (block_size_ > 1) return absl::OkStatus();
    return errors::InvalidArgument("Block size should be > 1: ", block_size_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (block_size_ > 0 && input.dims() != 4) {
      return errors::InvalidArgument("Input rank should be: 4 instead of: ", input.dims());
    }
    ASSIGN_OR_RETURN(const BlockProblem problem, ReadProblem(ctx, block_size_, "crops"));
    ASSIGN_OR_RETURN(const int64_t elements, BlockElements(problem.blocks));
    if (input.dim_size(0) % elements != 0) {
      return errors::InvalidArgument("Input batch dimension (", input.dim_size(0),
                                     ") is not divisible by product of block sizes (", elements, ")");
    }
    DimVector dims(input.shape().dim_sizes().begin(), input.shape().dim_sizes().end());
    dims[0] /= elements;
    for (size_t i = 0; i < problem.blocks.size(); ++i) {
      const int64_t size = MultiplyWithoutOverflow(dims[i + 1], problem.blocks[i]);
      if (size < 0)
        return errors::InvalidArgument("Negative output dimension size caused by overflow when multiplying ",
                                       dims[i + 1], " and ", problem.blocks[i]);
      if (problem.before[i] > size || problem.after[i] > size - problem.before[i]) {
        const auto crops = static_cast<uint64_t>(problem.before[i]) + static_cast<uint64_t>(problem.after[i]);
        return errors::InvalidArgument("cropped_shape[", i, "]=", size, "-", crops, " must be non-negative");
      }
      dims[i + 1] = size - problem.before[i] - problem.after[i];
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(dims));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    MoveBlocks<false>(ctx, output->dtype(), problem, shape, input.shape(), static_cast<char*>(output->raw_data()),
                      static_cast<char*>(input.raw_data()), elements);
    return absl::OkStatus();
  }

 private:
  int64_t block_size_ = 0;
};

// SpaceToDepth and DepthToSpace: one copy of a six-dimensional array with two dimensions moved.
template <bool kToDepth>
class DepthKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("block_size", &block_));
    if (block_ <= 1) return errors::InvalidArgument("Block size should be > 1, but was: ", block_);
    std::string format;
    RETURN_IF_ERROR(ctx.GetAttr("data_format", &format));
    if (format == "NCHW_VECT_C") {
      return errors::Unimplemented(ctx.op(), " on CPU knows the data formats NHWC and NCHW, not ", format);
    }
    channels_first_ = format == "NCHW";
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.dims() != 4) return errors::InvalidArgument("Input rank should be: 4 instead of: ", input.dims());
    const int row = channels_first_ ? 2 : 1, channel = channels_first_ ? 1 : 3;
    const int64_t squared = block_ > (int64_t{1} << 31) ? -1 : block_ * block_;
    DimVector dims(input.shape().dim_sizes().begin(), input.shape().dim_sizes().end());
    if (kToDepth) {
      if (dims[row] % block_ != 0 || dims[row + 1] % block_ != 0) {
        return errors::InvalidArgument("Image width ", dims[row + 1], " and height ", dims[row],
                                       " should be divisible by block_size: ", block_);
      }
      dims[row] /= block_;
      dims[row + 1] /= block_;
      dims[channel] = MultiplyWithoutOverflow(dims[channel], squared);
    } else {
      if (squared < 0 || dims[channel] % squared != 0) {
        return errors::InvalidArgument("Input depth dimension ", dims[channel], " should be divisible by: ", squared);
      }
      dims[channel] /= squared;
      dims[row] = MultiplyWithoutOverflow(dims[row], block_);
      dims[row + 1] = MultiplyWithoutOverflow(dims[row + 1], block_);
    }
    for (int64_t size : dims) {
      if (size < 0) return errors::InvalidArgument("Output dimensions are too large");
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(dims));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    const TensorShape& space = kToDepth ? input.shape() : shape;
    const TensorShape& depth = kToDepth ? shape : input.shape();
    const int64_t rows = depth.dim_size(row), columns = depth.dim_size(row + 1), channels = space.dim_size(channel);
    const DimVector s = DenseSteps(space.dim_sizes()), d = DenseSteps(depth.dim_sizes());
    // batch, row, row in block, column, column in block, channel
    const DimVector sizes = {space.dim_size(0), rows, block_, columns, block_, channels};
    const DimVector in_space = {s[0], block_ * s[row], s[row], block_ * s[row + 1], s[row + 1], s[channel]};
    const DimVector in_depth = {d[0],      d[row], block_ * channels * d[channel], d[row + 1], channels * d[channel],
                                d[channel]};
    StridedCopy(ctx, output->dtype(), sizes, input.raw_data(), kToDepth ? in_space : in_depth, output->raw_data(),
                kToDepth ? in_depth : in_space);
    return absl::OkStatus();
  }

 private:
  int64_t block_ = 0;
  bool channels_first_ = false;
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
