// Finds the dimension of a tensor's channels.
#pragma once

#include "core/status.h"
#include "core/tensor/tensor_shape.h"

namespace weir {

struct Channels {
  int axis = 0;
  int64_t outer = 1, channels = 1, inner = 1;  // elements before, of, and behind that dimension

  // Dimension 1, or the last. INVALID_ARGUMENT for less than two dimensions.
  static absl::StatusOr<Channels> Of(const TensorShape& shape, bool channels_first);
  // And a bias for each of them, or INVALID_ARGUMENT.
  static absl::StatusOr<Channels> OfBias(const TensorShape& shape, const TensorShape& bias, bool channels_first);
};

}  // namespace weir
