// Broadcasts two shapes against each other, by NumPy's rules:
// https://numpy.org/doc/stable/user/basics.broadcasting.html.
#pragma once

#include "absl/status/statusor.h"
#include "core/tensor/tensor_shape.h"

namespace weir {

// Two shapes broadcast together: the output's shape, and its dimensions collapsed to as few as the pattern allows,
// innermost last, with the steps of each operand in elements. InvalidArgument where they do not match.
struct Broadcasting {
  static absl::StatusOr<Broadcasting> Of(const TensorShape& x, const TensorShape& y);

  TensorShape shape;
  DimVector sizes, x_steps, y_steps;
};

}  // namespace weir
