// Argument checks of Pad, MirrorPad and MirrorPadGrad for all devices.
#pragma once

#include "core/tensor/tensor.h"

namespace weir {

// The elements of a [rank, 2] matrix of paddings for a tensor of shape `padded`, none negative.
absl::StatusOr<DimVector> ReadPaddings(const Tensor& paddings, const TensorShape& padded);
// The same for a frame that mirrors the input (including the edge if `symmetric`) and cannot be wider than it.
absl::StatusOr<DimVector> ReadMirrorPaddings(const Tensor& paddings, const TensorShape& padded, bool symmetric);
// MirrorPadGrad: the size of a dimension of `wide` elements without its frame.
absl::StatusOr<int64_t> MirroredSize(int64_t wide, int64_t before, int64_t after, bool symmetric);
// `shape` with its frame.
absl::StatusOr<TensorShape> PaddedShape(const TensorShape& shape, const DimVector& paddings);

}  // namespace weir
