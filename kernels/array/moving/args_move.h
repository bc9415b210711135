// Argument checks of Transpose, Tile, Roll and ReverseSequence for all devices, with TensorFlow's messages.
#pragma once

#include "core/status.h"
#include "core/tensor/tensor.h"

namespace weir {

// Transpose: a permutation of `rank` dimensions, made non-negative.
absl::StatusOr<DimVector> ReadPermutation(const Tensor& tensor, int rank);
// Tile: how often each dimension is repeated.
absl::StatusOr<DimVector> ReadMultiples(const Tensor& multiples, const TensorShape& tiled);
// Roll: the shift of each dimension, in [0, size).
absl::StatusOr<DimVector> ReadShifts(const TensorShape& rolled, const Tensor& shift, const Tensor& axis);
// ReverseSequence: checks all but the values of the lengths.
absl::Status CheckSequences(const TensorShape& input, const TensorShape& lengths, int64_t seq_dim, int64_t batch_dim);

}  // namespace weir
