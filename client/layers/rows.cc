#include "client/layers/rows.h"

#include <algorithm>

#include "client/ops.h"

namespace weir {
namespace layers {

Rows::Rows(const Scope& scope, const Output& x, int64_t inputs) : x_(x), shape_(scope.ShapeOf(x)), matrix_(x) {
  if (shape_.dims() > 2) matrix_ = ops::Reshape(scope, x, Tensor::Vector<int64_t>({-1, inputs}));
}

Output Rows::Restore(const Scope& scope, const Output& matrix, int64_t width) const {
  if (shape_.dims() <= 2) return matrix;
  std::vector<int64_t> dims(shape_.dim_sizes().begin(), shape_.dim_sizes().end());
  dims.back() = width;
  if (std::count(dims.begin(), dims.end(), -1) <= 1) {
    return ops::Reshape(scope, matrix, Tensor::Vector<int64_t>(dims));
  }
  const Tensor last = Tensor::Vector<int32_t>({static_cast<int32_t>(width)});
  const Output shape = ops::ConcatV2(scope, {Dims(scope, x_, 0, -1), last}, Tensor::Scalar<int32_t>(0));
  return ops::Reshape(scope, matrix, shape);
}

Output Dims(const Scope& scope, const Output& x, int32_t first, int32_t end) {
  return ops::StridedSlice(scope, ops::Shape(scope, x), Tensor::Vector<int32_t>({first}),
                           Tensor::Vector<int32_t>({end}), Tensor::Vector<int32_t>({1}));
}

Output Dim(const Scope& scope, const Output& x, int32_t i) {
  return ops::StridedSlice(scope, ops::Shape(scope, x), Tensor::Vector<int32_t>({i}), Tensor::Vector<int32_t>({i + 1}),
                           Tensor::Vector<int32_t>({1}), {.shrink_axis_mask = 1});
}

}  // namespace layers
}  // namespace weir
