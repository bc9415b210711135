#include "core/sparse_product_args.h"

namespace weir {

absl::Status CheckSparseTimesDense(const Tensor& indices, const Tensor& values, const Tensor& shape, const Tensor& b) {
  const auto wrong = [](absl::string_view what, const Tensor& got) {
    return errors::InvalidArgument("Tensor ", what, ", got shape ", got.shape().ToString());
  };
  if (b.dims() != 2) return wrong("'b' is not a matrix", b);
  if (shape.dims() != 1) return wrong("'a_shape' is not a vector", shape);
  if (shape.NumElements() != 2) return wrong("'a_shape' must have 2 elements", shape);
  if (values.dims() != 1) return wrong("'a_values' is not a vector", values);
  if (indices.dims() != 2) return wrong("'a_indices' is not a matrix", indices);
  if (indices.dim_size(0) != values.NumElements()) {
    return errors::InvalidArgument("Number of rows of a_indices does not match number of entries in a_values");
  }
  if (indices.dim_size(1) == 2) return absl::OkStatus();
  return errors::InvalidArgument("Number of columns of a_indices does not match number of entries in a_shape");
}

}  // namespace weir
