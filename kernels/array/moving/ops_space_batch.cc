// Blocks of space as batch or depth.
#include "kernels/array/family.h"
#include "kernels/device/op_shapes.h"

namespace weir {
namespace {

using op_shapes::Dims;
using op_shapes::kUnknown;

// The batch times, or divided by, all blocks.
absl::StatusOr<int64_t> BatchOf(int64_t batch, const std::vector<int64_t>& blocks, bool to_batch) {
  for (int64_t block : blocks) {
    if (batch == kUnknown) return kUnknown;
    if (block < 1) return errors::InvalidArgument("block_shape must be positive, got ", block);
    if (!to_batch && batch % block != 0) {
      return errors::InvalidArgument("Dimension size must be evenly divisible by ", block, " but is ", batch);
    }
    batch = to_batch ? MultiplyWithoutOverflow(batch, block) : batch / block;
  }
  return batch;
}

// Input 0's shape with each blocked dimension padded and divided, or multiplied and cropped, and the batch the other
// way.
absl::Status BlockShape(InferenceContext& c, bool to_batch) {
  int64_t block_size = 0;
  std::optional<std::vector<int64_t>> blocks, around = op_shapes::ConstantVector(c, c.num_inputs() - 1);
  if (c.num_inputs() == 2) {
    RETURN_IF_ERROR(c.GetAttr("block_size", &block_size));
    blocks = std::vector<int64_t>{block_size, block_size};
    RETURN_IF_ERROR(c.WithRank(c.input(0), 4).status());
  } else {
    RETURN_IF_ERROR(c.WithRank(c.input(1), 1).status());
    blocks = op_shapes::ConstantVector(c, 1);
  }
  const PartialTensorShape& input = c.input(0);
  if (input.unknown_rank()) return absl::OkStatus();
  if (!blocks || !around || around->size() != 2 * blocks->size()) {
    // Dimensions that are not blocked are known, and so is the batch if the blocks are constants.
    DimVector dims(input.dims(), kUnknown);
    int64_t blocked = blocks ? static_cast<int64_t>(blocks->size()) : c.Dim(c.input(1), 0);
    if (blocked >= 0 && blocked < input.dims()) {
      for (int d = static_cast<int>(blocked) + 1; d < input.dims(); ++d) dims[d] = input.dim_size(d);
    }
    if (blocks) {
      ASSIGN_OR_RETURN(dims[0], BatchOf(input.dim_size(0), *blocks, to_batch));
    }
    c.set_output(0, c.Of(dims));
    return absl::OkStatus();
  }
  if (input.dims() <= static_cast<int>(blocks->size())) {
    return errors::InvalidArgument("input rank should be >= ", blocks->size() + 1, " instead of ", input.dims());
  }
  DimVector dims = Dims(input);
  for (size_t i = 0; i < blocks->size(); ++i) {
    const int64_t block = (*blocks)[i], before = (*around)[2 * i], after = (*around)[2 * i + 1];
    if (block < 1) return errors::InvalidArgument("block_shape must be positive, got ", block);
    if (before < 0 || after < 0) {
      return errors::InvalidArgument(to_batch ? "Paddings must be non-negative" : "Crops must be non-negative");
    }
    int64_t& size = dims[i + 1];
    if (to_batch) {
      if (size != kUnknown) {
        ASSIGN_OR_RETURN(size, op_shapes::AddDims(size, before));
        ASSIGN_OR_RETURN(size, op_shapes::AddDims(size, after));
        if (size % block != 0) {
          return errors::InvalidArgument("padded_shape[", i, "]=", size, " is not divisible by block_shape[", i,
                                         "]=", block);
        }
        size /= block;
      }
      if (dims[0] != kUnknown) dims[0] = MultiplyWithoutOverflow(dims[0], block);
    } else {
      if (size != kUnknown) {
        size = MultiplyWithoutOverflow(size, block);
        if (size == kUnknown || before > size || after > size - before) {
          return errors::InvalidArgument("cropped_shape[", i, "] must be non-negative");
        }
        size -= before + after;
      }
      if (dims[0] != kUnknown) {
        if (dims[0] % block != 0) {
          return errors::InvalidArgument("Dimension size must be evenly divisible by ", block, " but is ", dims[0]);
        }
        dims[0] /= block;
      }
    }
  }
  c.set_output(0, c.Of(dims));
  return absl::OkStatus();
}
absl::Status SpaceToBatchShape(InferenceContext& c) { return BlockShape(c, true); }
absl::Status BatchToSpaceShape(InferenceContext& c) { return BlockShape(c, false); }

absl::Status DepthShape(InferenceContext& c, bool to_depth) {
  std::string format;
  int64_t block;
  RETURN_IF_ERROR(c.GetAttr("data_format", &format));
  RETURN_IF_ERROR(c.GetAttr("block_size", &block));
  if (format == "NCHW_VECT_C") return absl::OkStatus();
  ASSIGN_OR_RETURN(PartialTensorShape input, c.WithRank(c.input(0), 4));
  DimVector dims = Dims(input);
  const int row = format == "NCHW" ? 2 : 1, channel = format == "NCHW" ? 1 : 3;
  const int64_t squared = MultiplyWithoutOverflow(block, block);
  const auto shrink = [](int64_t* size, int64_t by) {
    if (*size == kUnknown) return absl::OkStatus();
    if (by < 1 || *size % by != 0) {
      return errors::InvalidArgument("Dimension size must be evenly divisible by ", by, " but is ", *size);
    }
    *size /= by;
    return absl::OkStatus();
  };
  const auto grow = [](int64_t* size, int64_t by) {
    if (*size != kUnknown) *size = MultiplyWithoutOverflow(*size, by);
  };
  if (to_depth) {
    RETURN_IF_ERROR(shrink(&dims[row], block));
    RETURN_IF_ERROR(shrink(&dims[row + 1], block));
    grow(&dims[channel], squared);
  } else {
    grow(&dims[row], block);
    grow(&dims[row + 1], block);
    RETURN_IF_ERROR(shrink(&dims[channel], squared));
  }
  c.set_output(0, c.Of(dims));
  return absl::OkStatus();
}
absl::Status SpaceToDepthShape(InferenceContext& c) { return DepthShape(c, true); }
absl::Status DepthToSpaceShape(InferenceContext& c) { return DepthShape(c, false); }

}  // namespace

absl::Status RegisterSpaceBatchOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("SpaceToBatchND")
                                   .Input("input: T")
                                   .Input("block_shape: Tblock_shape")
                                   .Input("paddings: Tpaddings")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("Tblock_shape: {int32, int64} = DT_INT32")
                                   .Attr("Tpaddings: {int32, int64} = DT_INT32")
                                   .Shape(SpaceToBatchShape)));
  RETURN_IF_ERROR(ops.Register(Op("SpaceToBatch")
                                   .Input("input: T")
                                   .Input("paddings: Tpaddings")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("Tpaddings: {int32, int64} = DT_INT32")
                                   .Attr("block_size: int >= 2")
                                   .Shape(SpaceToBatchShape)));
  RETURN_IF_ERROR(ops.Register(Op("BatchToSpaceND")
                                   .Input("input: T")
                                   .Input("block_shape: Tblock_shape")
                                   .Input("crops: Tcrops")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("Tblock_shape: {int32, int64} = DT_INT32")
                                   .Attr("Tcrops: {int32, int64} = DT_INT32")
                                   .Shape(BatchToSpaceShape)));
  RETURN_IF_ERROR(ops.Register(Op("BatchToSpace")
                                   .Input("input: T")
                                   .Input("crops: Tidx")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("block_size: int >= 2")
                                   .Attr("Tidx: {int32, int64} = DT_INT32")
                                   .Shape(BatchToSpaceShape)));
  RETURN_IF_ERROR(ops.Register(Op("SpaceToDepth")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("block_size: int >= 2")
                                   .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
                                   .Shape(SpaceToDepthShape)));
  RETURN_IF_ERROR(ops.Register(Op("DepthToSpace")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Attr("block_size: int >= 2")
                                   .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
                                   .Shape(DepthToSpaceShape)));
  return absl::OkStatus();
}

}  // namespace weir
