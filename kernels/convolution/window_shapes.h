// Shape functions of ops with windows over one to three spatial dimensions: convolutions and pooling.
#pragma once

#include <vector>

#include "core/status.h"
#include "graph/shapes/shape_inference.h"

namespace weir {

// Output 0 from attributes strides, padding, data_format and, where the op has them, dilations and explicit_paddings.
// The window is input 1 where `filter` is set, and `window`, one size for each dimension, elsewhere.
absl::Status WindowedOutputShape(InferenceContext& c, const std::vector<int64_t>& window, bool filter);

// Output 0 has the shape of rank 5 that input kInput holds.
template <int kInput>
absl::Status VolumeFromSizes(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.InputAsShape(kInput));
  if (shape.unknown_rank()) shape = c.UnknownOfRank(5);
  ASSIGN_OR_RETURN(shape, c.WithRank(shape, 5));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}
// Output 0 has the shape of input kInput, which has rank kRank.
template <int kInput, int kRank>
absl::Status WindowedLikeInput(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.WithRank(c.input(kInput), kRank));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

}  // namespace weir
