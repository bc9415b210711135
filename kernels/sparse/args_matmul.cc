#include "kernels/sparse/args_matmul.h"

namespace weir {
namespace {

absl::Status CheckShapes(const Tensor& indices, const Tensor& values, const Tensor& shape, const Tensor& b) {
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

}  // namespace

absl::StatusOr<SparseProductSizes> SparseProductSizes::Of(OpKernelContext& ctx, bool adjoint_a, bool adjoint_b) {
  const Tensor &a_shape = ctx.input(2), &b = ctx.input(3);
  RETURN_IF_ERROR(CheckShapes(ctx.input(0), ctx.input(1), a_shape, b));
  SparseProductSizes sizes;
  sizes.rows = a_shape.data<int64_t>()[adjoint_a ? 1 : 0];
  sizes.inner = a_shape.data<int64_t>()[adjoint_a ? 0 : 1];
  sizes.columns = b.dim_size(adjoint_b ? 0 : 1);
  const int64_t b_inner = b.dim_size(adjoint_b ? 1 : 0);
  if (sizes.inner != b_inner) {
    return errors::InvalidArgument("Cannot multiply A and B because inner dimension does not match: ", sizes.inner,
                                   " vs. ", b_inner, ".  Did you forget a transpose?  Dimensions of A: [", sizes.rows,
                                   ", ", sizes.inner, ").  Dimensions of B: ", b.shape().ToString());
  }
  if (sizes.rows < 0) return errors::InvalidArgument("a_shape must not be negative: ", sizes.rows);
  ASSIGN_OR_RETURN(sizes.output, TensorShape::Build({{sizes.rows, sizes.columns}}));
  return sizes;
}

}  // namespace weir
