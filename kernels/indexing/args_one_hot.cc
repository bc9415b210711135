#include "kernels/indexing/args_one_hot.h"

#include "core/tensor/index_tensor.h"

namespace weir {

absl::StatusOr<OneHotShape> OneHotShape::Of(OpKernelContext& ctx, int64_t axis) {
  const TensorShape& indices = ctx.input(0).shape();
  if (axis < -1 || axis > indices.dims()) {
    return errors::InvalidArgument("Expected axis to be -1 or between [0, ", indices.dims() + 1,
                                   ").  But received: ", axis);
  }
  constexpr const char* kNames[] = {"indices", "depth", "on_value", "off_value"};
  for (int i = 1; i < 4; ++i) {
    if (ctx.input(i).dims() == 0) continue;
    return errors::InvalidArgument(kNames[i], " must be a scalar, but got: ", ctx.input(i).shape().ToString());
  }
  OneHotShape result;
  ASSIGN_OR_RETURN(result.depth, ReadInteger(ctx.input(1), "depth"));
  if (result.depth < 0) return errors::InvalidArgument("depth must be non-negative, got: ", result.depth);
  result.axis = axis == -1 ? indices.dims() : static_cast<int>(axis);
  result.shape = indices;
  RETURN_IF_ERROR(result.shape.InsertDim(result.axis, result.depth));
  return result;
}

}  // namespace weir
