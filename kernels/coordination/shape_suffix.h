// Checks that one shape ends with another.
#pragma once

#include "core/tensor/tensor_shape.h"

namespace weir {

inline bool EndsWith(const TensorShape& shape, const TensorShape& suffix) {
  return shape.dims() >= suffix.dims() && shape.dim_sizes().subspan(shape.dims() - suffix.dims()) == suffix.dim_sizes();
}

}  // namespace weir
