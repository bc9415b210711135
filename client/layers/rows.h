// Shapes of a layer's input.
#pragma once

#include "client/scope.h"
#include "core/tensor/tensor_shape.h"
#include "graph/output.h"

namespace weir {
namespace layers {

// x as rows of `inputs` elements, a matrix, and back: rows of another width in x's other dimensions. A matrix, or an x
// of unknown rank, stays as it is.
class Rows {
 public:
  Rows(const Scope& scope, const Output& x, int64_t inputs);
  const Output& matrix() const { return matrix_; }
  Output Restore(const Scope& scope, const Output& matrix, int64_t width) const;

 private:
  const Output x_;
  const PartialTensorShape shape_;
  Output matrix_;
};

// The dimensions [first, end) of x at run time, int32; a negative `end` counts from the back.
Output Dims(const Scope& scope, const Output& x, int32_t first, int32_t end);
// Dimension i of x at run time: an int32 scalar.
Output Dim(const Scope& scope, const Output& x, int32_t i);

}  // namespace layers
}  // namespace weir
