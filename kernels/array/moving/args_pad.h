// The paddings of Pad, MirrorPad and their like, on whatever device.
#pragma once

#include "core/tensor.h"

namespace weir {

// The elements of a [rank, 2] matrix of paddings for a tensor of shape `padded`, none negative.
absl::StatusOr<DimVector> ReadPaddings(const Tensor& paddings, const TensorShape& padded);
// The same where the frame mirrors what it surrounds (with the edge itself where `symmetric`), and cannot be wider.
absl::StatusOr<DimVector> ReadMirrorPaddings(const Tensor& paddings, const TensorShape& padded, bool symmetric);
// MirrorPadGrad's: what is left of a dimension of `wide` elements without its frame, which can be a mirror of that.
absl::StatusOr<int64_t> MirroredSize(int64_t wide, int64_t before, int64_t after, bool symmetric);
// `shape` with its frame.
absl::StatusOr<TensorShape> PaddedShape(const TensorShape& shape, const DimVector& paddings);

}  // namespace weir
