#include "kernels/array/moving/args_space_batch.h"

#include "core/tensor/index_tensor.h"
#include "kernels/device/dense_steps.h"

namespace weir {
namespace {

absl::Status CheckBlocks(const SpaceBlocks& problem, const char* amounts) {
  for (size_t i = 0; i < problem.sizes.size(); ++i) {
    if (problem.sizes[i] < 1)
      return errors::InvalidArgument("All values in block_shape must be positive, got value, ", problem.sizes[i],
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

absl::StatusOr<int64_t> BlockElements(const DimVector& blocks) {
  int64_t product = 1;
  for (int64_t block : blocks) product = MultiplyWithoutOverflow(product, block);
  if (product < 0) return errors::InvalidArgument("Product of block sizes must fit int64");
  return product;
}

// Inputs: image, block shape (or an attribute block_size), paddings or crops.
absl::StatusOr<SpaceBlocks> ReadBlocks(OpKernelContext& ctx, int64_t block_size, const char* amounts) {
  SpaceBlocks problem;
  const Tensor& around = ctx.input(ctx.num_inputs() - 1);
  if (block_size > 0) {
    problem.sizes = {block_size, block_size};
  } else {
    ASSIGN_OR_RETURN(problem.sizes, BlockShapeInput(ctx.input(1)));
  }
  const int64_t n = static_cast<int64_t>(problem.sizes.size());
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
  ASSIGN_OR_RETURN(problem.elements, BlockElements(problem.sizes));
  return problem;
}

// Checks input 0: the image ops require four dimensions.
absl::Status CheckImage(const TensorShape& input, int64_t block_size) {
  if (block_size == 0 || input.dims() == 4) return absl::OkStatus();
  return errors::InvalidArgument("Input rank should be: 4 instead of: ", input.dims());
}

}  // namespace

absl::StatusOr<int64_t> ReadBlockSize(OpKernelConstruction& ctx) {
  int64_t block_size = 0;
  if (!ctx.HasAttr("block_size")) return block_size;
  RETURN_IF_ERROR(ctx.GetAttr("block_size", &block_size));
  if (block_size > 1) return block_size;
  return errors::InvalidArgument("Block size should be > 1: ", block_size);
}

absl::StatusOr<SpaceBlocks> ReadSpaceToBatch(OpKernelContext& ctx, int64_t block_size) {
  const TensorShape& input = ctx.input(0).shape();
  RETURN_IF_ERROR(CheckImage(input, block_size));
  ASSIGN_OR_RETURN(SpaceBlocks problem, ReadBlocks(ctx, block_size, "paddings"));
  DimVector dims(input.dim_sizes().begin(), input.dim_sizes().end());
  dims[0] = MultiplyWithoutOverflow(dims[0], problem.elements);
  if (dims[0] < 0)
    return errors::InvalidArgument("Negative output dimension size caused by overflow when multiplying ",
                                   input.dim_size(0), " and ", problem.elements);
  for (size_t i = 0; i < problem.sizes.size(); ++i) {
    int64_t& size = dims[i + 1];
    if (__builtin_add_overflow(size, problem.before[i], &size) ||
        __builtin_add_overflow(size, problem.after[i], &size)) {
      return errors::InvalidArgument("paddings are out of range");
    }
    if (size % problem.sizes[i] != 0) {
      return errors::InvalidArgument("padded_shape[", i, "]=", size, " is not divisible by block_shape[", i,
                                     "]=", problem.sizes[i]);
    }
    size /= problem.sizes[i];
  }
  ASSIGN_OR_RETURN(problem.output, TensorShape::Build(dims));
  return problem;
}

absl::StatusOr<SpaceBlocks> ReadBatchToSpace(OpKernelContext& ctx, int64_t block_size) {
  const TensorShape& input = ctx.input(0).shape();
  RETURN_IF_ERROR(CheckImage(input, block_size));
  ASSIGN_OR_RETURN(SpaceBlocks problem, ReadBlocks(ctx, block_size, "crops"));
  if (input.dim_size(0) % problem.elements != 0) {
    return errors::InvalidArgument("Input batch dimension (", input.dim_size(0),
                                   ") is not divisible by product of block sizes (", problem.elements, ")");
  }
  DimVector dims(input.dim_sizes().begin(), input.dim_sizes().end());
  dims[0] /= problem.elements;
  for (size_t i = 0; i < problem.sizes.size(); ++i) {
    const int64_t size = MultiplyWithoutOverflow(dims[i + 1], problem.sizes[i]);
    if (size < 0)
      return errors::InvalidArgument("Negative output dimension size caused by overflow when multiplying ", dims[i + 1],
                                     " and ", problem.sizes[i]);
    if (problem.before[i] > size || problem.after[i] > size - problem.before[i]) {
      int64_t cropped;
      if (__builtin_sub_overflow(size - problem.before[i], problem.after[i], &cropped)) {
        return errors::InvalidArgument("cropped_shape[", i, "] must be non-negative");
      }
      return errors::InvalidArgument("cropped_shape[", i, "]=", cropped, " must be non-negative");
    }
    dims[i + 1] = size - problem.before[i] - problem.after[i];
  }
  ASSIGN_OR_RETURN(problem.output, TensorShape::Build(dims));
  return problem;
}

absl::StatusOr<DepthBlocks> DepthBlocks::Of(OpKernelConstruction& ctx, bool to_depth) {
  DepthBlocks blocks;
  blocks.to_depth_ = to_depth;
  RETURN_IF_ERROR(ctx.GetAttr("block_size", &blocks.block_));
  constexpr int64_t kMaxBlock = 46340;  // its square fits int32
  if (!to_depth && (blocks.block_ <= 1 || blocks.block_ > kMaxBlock)) {
    return errors::InvalidArgument("Block size should be > 1 and <= ", kMaxBlock, " but was: ", blocks.block_);
  }
  if (blocks.block_ <= 1) return errors::InvalidArgument("Block size should be > 1, but was: ", blocks.block_);
  std::string format;
  RETURN_IF_ERROR(ctx.GetAttr("data_format", &format));
  if (format == "NCHW_VECT_C") {
    return errors::Unimplemented(ctx.op(), " knows the data formats NHWC and NCHW, not ", format);
  }
  blocks.channels_first_ = format == "NCHW";
  return blocks;
}

absl::StatusOr<DepthBlocks::Copy> DepthBlocks::CopyOf(const TensorShape& input) const {
  if (input.dims() != 4) {
    return to_depth_ ? errors::InvalidArgument("Input rank should be 4 instead of ", input.dims())
                     : errors::InvalidArgument("Input rank should be: 4 instead of: ", input.dims());
  }
  const int row = channels_first_ ? 2 : 1, channel = channels_first_ ? 1 : 3;
  const int64_t squared = block_ > (int64_t{1} << 31) ? -1 : block_ * block_;
  DimVector dims(input.dim_sizes().begin(), input.dim_sizes().end());
  if (to_depth_) {
    if (dims[row] % block_ != 0 || dims[row + 1] % block_ != 0) {
      return errors::InvalidArgument("Image width ", dims[row + 1], " and height ", dims[row],
                                     " should be divisible by block_size: ", block_);
    }
    dims[row] /= block_;
    dims[row + 1] /= block_;
    dims[channel] = MultiplyWithoutOverflow(dims[channel], squared);
  } else {
    if (dims[channel] % squared != 0) {
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
  const TensorShape& space = to_depth_ ? input : shape;
  const TensorShape& depth = to_depth_ ? shape : input;
  const int64_t rows = depth.dim_size(row), columns = depth.dim_size(row + 1), channels = space.dim_size(channel);
  const DimVector s = DenseSteps(space.dim_sizes()), d = DenseSteps(depth.dim_sizes());
  const DimVector in_space = {s[0], block_ * s[row], s[row], block_ * s[row + 1], s[row + 1], s[channel]};
  const DimVector in_depth = {d[0],      d[row], block_ * channels * d[channel], d[row + 1], channels * d[channel],
                              d[channel]};
  return Copy{.output = shape,
              .sizes = {space.dim_size(0), rows, block_, columns, block_, channels},
              .from_steps = to_depth_ ? in_space : in_depth,
              .to_steps = to_depth_ ? in_depth : in_space};
}

}  // namespace weir
