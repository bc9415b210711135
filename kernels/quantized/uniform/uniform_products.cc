#include "kernels/quantized/uniform/uniform_products.h"

#include <utility>

namespace weir {

absl::Status CheckWholeLhs(OpKernelConstruction& ctx) {
  int64_t axis;
  RETURN_IF_ERROR(ctx.GetAttr("lhs_quantization_axis", &axis));
  if (axis == -1) return absl::OkStatus();
  return errors::InvalidArgument("lhs_quantization_axis Attr must be -1 (per-tensor).");
}

absl::Status CheckLhsParams(const OpKernelContext& ctx) {
  const Tensor &scales = ctx.input(2), &zero_points = ctx.input(3);
  if (scales.shape() == zero_points.shape() && scales.dims() == 0) return absl::OkStatus();
  return errors::InvalidArgument("lhs scales/zero_points must be all scalar tensors. Given: ",
                                 scales.shape().ToString(), zero_points.shape().ToString());
}

absl::Status CheckAllScales(const OpKernelContext& ctx) {
  for (const auto& [input, name] : {std::pair(2, "lhs"), std::pair(4, "rhs"), std::pair(6, "output")}) {
    if (AllPositive(ctx.input(input))) continue;
    return errors::InvalidArgument(name, " scales elements must be all positive.");
  }
  return absl::OkStatus();
}

absl::StatusOr<ProductScaling> ProductScaling::Of(const OpKernelContext& ctx, int64_t channels,
                                                  QuantizedBounds bounds) {
  ProductScaling scaling(ctx, bounds);
  const double left = ctx.input(2).scalar<float>();
  const QuantizationParams right(ctx.input(4), ctx.input(5));
  for (int64_t channel = 0; channel < (ctx.input(4).dims() == 0 ? 1 : channels); ++channel) {
    ASSIGN_OR_RETURN(const FixedPointFactor factor,
                     FixedPointFactor::Of(left * right.scale(channel) / scaling.output_.scale(channel)));
    scaling.factors_.push_back(factor);
  }
  return scaling;
}

}  // namespace weir
