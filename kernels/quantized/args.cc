#include "kernels/quantized/args.h"

#include <string>

#include "core/tensor/index_tensor.h"

namespace weir {

absl::StatusOr<QuantizedSlices> QuantizedSlices::Of(const TensorShape& shape, int64_t axis) {
  if (axis == -1) return QuantizedSlices{1, 1, shape.num_elements()};
  if (axis < -1 || axis >= shape.dims()) {
    return errors::InvalidArgument("Shape must be at least rank ", axis + 1, " but is rank ", shape.dims());
  }
  QuantizedSlices slices{1, shape.dim_size(static_cast<int>(axis)), 1};
  for (int i = 0; i < axis; ++i) slices.outer *= shape.dim_size(i);
  for (int i = static_cast<int>(axis) + 1; i < shape.dims(); ++i) slices.inner *= shape.dim_size(i);
  return slices;
}

absl::Status CheckQuantizedRange(const Tensor& range, const QuantizedSlices& slices, bool per_slice, const char* name) {
  if (!per_slice && range.dims() == 0) return absl::OkStatus();
  if (per_slice && range.dims() == 1 && range.dim_size(0) == slices.axis) return absl::OkStatus();
  if (!per_slice) return errors::InvalidArgument(name, " must be a scalar.");
  return errors::InvalidArgument(name, "_tensor has incorrect size, was ", range.NumElements(), " expected ",
                                 slices.axis, " to match the dimension of `axis`, got shape ",
                                 range.shape().ToString());
}

absl::Status QuantizeAttrs::Read(OpKernelConstruction& ctx) {
  RETURN_IF_ERROR(ctx.GetAttr("signed_input", &is_signed));
  RETURN_IF_ERROR(ctx.GetAttr("range_given", &range_given));
  if (ctx.HasAttr("axis")) RETURN_IF_ERROR(ctx.GetAttr("axis", &axis));
  if (ctx.HasAttr("narrow_range")) RETURN_IF_ERROR(ctx.GetAttr("narrow_range", &narrow));
  if (axis < -1) return errors::InvalidArgument("Axis must be at least -1. Found ", axis);
  std::string mode = "HALF_TO_EVEN";
  if (ctx.HasAttr("round_mode")) RETURN_IF_ERROR(ctx.GetAttr("round_mode", &mode));
  half_up = mode == "HALF_UP" || ctx.op() == "QuantizeAndDequantize";
  if (!ctx.HasAttr("num_bits")) return absl::OkStatus();
  RETURN_IF_ERROR(ctx.GetAttr("num_bits", &bits_));
  return CheckBits(bits_);
}

absl::StatusOr<int64_t> QuantizeAttrs::Bits(const OpKernelContext& ctx) const {
  if (ctx.num_inputs() < 4) return bits_;
  const Tensor& input = ctx.input(3);
  if (input.dims() != 0) {
    return errors::InvalidArgument("Invalid shape. The `num_bits` tensor should be a scalar. Got dimensions: ",
                                   input.dims());
  }
  ASSIGN_OR_RETURN(const int64_t bits, ReadInteger(input, "num_bits"));
  RETURN_IF_ERROR(CheckBits(bits));
  return bits;
}

absl::Status QuantizeAttrs::CheckBits(int64_t bits) const {
  if (bits > 0 && bits < (is_signed ? 62 : 63)) return absl::OkStatus();
  return errors::InvalidArgument("num_bits is out of range: ", bits, " with signed_input_ ", is_signed);
}

absl::StatusOr<QuantizedSlices> CheckQuantizeGrad(const OpKernelContext& ctx, int64_t axis) {
  const TensorShape& shape = ctx.input(0).shape();
  if (ctx.input(1).shape() != shape) return errors::InvalidArgument("gradient and input must be the same size");
  ASSIGN_OR_RETURN(const QuantizedSlices slices, QuantizedSlices::Of(shape, axis));
  for (const int i : {2, 3}) {
    const int rank = ctx.input(i).dims();
    if (rank > 1) {
      return errors::InvalidArgument("Input ", i == 2 ? "min" : "max", " tensor must have dimension 0 or 1. Received ",
                                     rank, ".");
    }
  }
  for (const int i : {2, 3}) {
    RETURN_IF_ERROR(CheckQuantizedRange(ctx.input(i), slices, axis != -1, i == 2 ? "input_min" : "input_max"));
  }
  return slices;
}

}  // namespace weir
