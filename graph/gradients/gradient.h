// The gradient with respect to a tensor.
#pragma once

#include "core/api.h"
#include "graph/output.h"

namespace WEIR_API weir {

// Dense (only `values`), or sparse like TensorFlow's IndexedSlices: row indices[i] of a tensor of shape `dense_shape`
// has the gradient values[i], and repeated indices add up. Invalid: zero.
struct Gradient {
  Output values;
  Output indices;
  Output dense_shape;

  Gradient() = default;
  Gradient(Output dense) : values(dense) {}  // NOLINT(google-explicit-constructor): a dense gradient is an output
  Gradient(Output values, Output indices, Output dense_shape)
      : values(values), indices(indices), dense_shape(dense_shape) {}
  bool valid() const { return values.valid(); }
  bool is_sparse() const { return indices.valid(); }
};

}  // namespace weir
