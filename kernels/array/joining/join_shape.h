// The static shape of tensors that are joined along a dimension.
#pragma once

#include "graph/shapes/shape_inference.h"

namespace weir::op_shapes {

// Sets output 0 to inputs [first, last) joined along input `axis_input`.
absl::Status JoinShape(InferenceContext& c, int first, int last, int axis_input);

}  // namespace weir::op_shapes
