#include "kernels/array/slicing/args_strided_slice.h"

#include "core/tensor/index_tensor.h"
#include "kernels/device/dense_steps.h"

namespace weir {

absl::Status StridedSliceArgs::Init(OpKernelConstruction& ctx) {
  RETURN_IF_ERROR(ctx.GetAttr("begin_mask", &masks_.begin));
  RETURN_IF_ERROR(ctx.GetAttr("end_mask", &masks_.end));
  RETURN_IF_ERROR(ctx.GetAttr("ellipsis_mask", &masks_.ellipsis));
  RETURN_IF_ERROR(ctx.GetAttr("new_axis_mask", &masks_.new_axis));
  return ctx.GetAttr("shrink_axis_mask", &masks_.shrink_axis);
}

absl::StatusOr<StridedSliceSpec> StridedSliceArgs::Select(OpKernelContext& ctx, const TensorShape& shape) const {
  const TensorShape& length = ctx.input(1).shape();
  if (!length.IsVector() || ctx.input(2).shape() != length || ctx.input(3).shape() != length) {
    return errors::InvalidArgument("Expected begin, end, and strides to be 1D equal size tensors, but got shapes ",
                                   length.ToString(), ", ", ctx.input(2).shape().ToString(), ", and ",
                                   ctx.input(3).shape().ToString(), " instead.");
  }
  ASSIGN_OR_RETURN(const DimVector begin, ReadIntegers(ctx.input(1)));
  ASSIGN_OR_RETURN(const DimVector end, ReadIntegers(ctx.input(2)));
  ASSIGN_OR_RETURN(const DimVector strides, ReadIntegers(ctx.input(3)));
  return StridedSliceSpec::Of(shape, masks_, begin, end, strides);
}

absl::StatusOr<StridedSliceSpec> StridedSliceArgs::SelectGradient(OpKernelContext& ctx, TensorShape* shape) const {
  if (ctx.input(0).dims() != 1) {
    return errors::InvalidArgument("shape must be 1-D, got shape.shape = ", ctx.input(0).shape().ToString());
  }
  ASSIGN_OR_RETURN(*shape, ReadShape(ctx.input(0)));
  ASSIGN_OR_RETURN(StridedSliceSpec spec, Select(ctx, *shape));
  const TensorShape& dy = ctx.input(4).shape();
  ASSIGN_OR_RETURN(const TensorShape expected, spec.output.AsTensorShape());
  if (dy != expected) {
    return errors::InvalidArgument("shape of dy was ", dy.ToString(), " instead of ", expected.ToString());
  }
  return spec;
}

StridedSlicePlaces::StridedSlicePlaces(const StridedSliceSpec& spec, const TensorShape& shape)
    : steps(DenseSteps(shape.dim_sizes())) {
  for (size_t i = 0; i < steps.size(); ++i) {
    start += spec.begin[i] * steps[i];
    // A stride beyond the dimension takes one element, and its product could overflow.
    steps[i] = spec.size[i] <= 1 ? 0 : spec.stride[i] * steps[i];
  }
}

}  // namespace weir
