// Argument checks of SpaceToBatch, SpaceToDepth and their inverses for all devices, with TensorFlow's messages.
#pragma once

#include "core/kernel/op_kernel.h"

namespace weir {

// The mapping between an image, padded or cropped, and the batch of its blocks.
struct SpaceBlocks {
  DimVector sizes, before, after;  // one for each blocked dimension
  int64_t elements = 1;            // of a block
  TensorShape output;
};

// Attribute block_size of the image ops; 0 for the ND ops.
absl::StatusOr<int64_t> ReadBlockSize(OpKernelConstruction& ctx);
// Inputs: image, block shape (unless `block_size` is not 0), paddings or crops.
absl::StatusOr<SpaceBlocks> ReadSpaceToBatch(OpKernelContext& ctx, int64_t block_size);
absl::StatusOr<SpaceBlocks> ReadBatchToSpace(OpKernelContext& ctx, int64_t block_size);

// SpaceToDepth (`to_depth`) and DepthToSpace: a copy of a six-dimensional array, batch, row, row in block, column,
// column in block, channel, in which the steps differ.
class DepthBlocks {
 public:
  // Reads attributes.
  static absl::StatusOr<DepthBlocks> Of(OpKernelConstruction& ctx, bool to_depth);
  struct Copy {
    TensorShape output;
    DimVector sizes, from_steps, to_steps;
  };
  absl::StatusOr<Copy> CopyOf(const TensorShape& input) const;

 private:
  int64_t block_ = 0;
  bool to_depth_ = false, channels_first_ = false;
};

}  // namespace weir
