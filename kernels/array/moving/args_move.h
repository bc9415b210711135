// The arguments of ops that rearrange a tensor, on whatever device: checked in TensorFlow's words.
#pragma once

#include "core/status.h"
#include "core/tensor.h"

namespace weir {

// Transpose's: a vector of all `rank` dimensions, none negative in what comes back.
absl::StatusOr<DimVector> ReadPermutation(const Tensor& tensor, int rank);
// Tile's: how often each dimension is repeated.
absl::StatusOr<DimVector> ReadMultiples(const Tensor& multiples, const TensorShape& tiled);
// Roll's: by how much each dimension is moved on, in [0, size).
absl::StatusOr<DimVector> ReadShifts(const TensorShape& rolled, const Tensor& shift, const Tensor& axis);
// ReverseSequence's, but for the lengths' values.
absl::Status CheckSequences(const TensorShape& input, const TensorShape& lengths, int64_t seq_dim, int64_t batch_dim);

}  // namespace weir
