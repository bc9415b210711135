#include "kernels/quantized/args_fake_quant.h"

namespace weir {

absl::Status QuantAttrs::Read(OpKernelConstruction& ctx) {
  RETURN_IF_ERROR(ctx.GetAttr("num_bits", &bits));
  if (bits < 2 || bits > 16) return errors::InvalidArgument("num_bits must be between 2 and 16, inclusive");
  RETURN_IF_ERROR(ctx.GetAttr("narrow_range", &narrow));
  if (!ctx.HasAttr("min")) return absl::OkStatus();
  RETURN_IF_ERROR(ctx.GetAttr("min", &low));
  RETURN_IF_ERROR(ctx.GetAttr("max", &high));
  if (low < high) return absl::OkStatus();
  return errors::InvalidArgument("min has to be smaller than max, was: ", low, " >= ", high);
}

absl::StatusOr<int64_t> CheckQuantRange(OpKernelContext& ctx, int first, bool per_channel) {
  const TensorShape& input = ctx.input(first).shape();
  if (first > 0 && ctx.input(0).shape() != input) {
    return errors::InvalidArgument("gradient and input must be the same size");
  }
  if (per_channel && input.dims() < 1) return errors::InvalidArgument("input must have at least one dimension");
  const int64_t depth = per_channel ? input.dim_size(input.dims() - 1) : 1;
  for (int i : {1, 2}) {
    const absl::string_view name = i == 1 ? "min" : "max";
    const TensorShape& range = ctx.input(first + i).shape();
    const int rank = per_channel ? 1 : 0;
    if (range.dims() != rank) {
      return errors::InvalidArgument("`", name, "` must be rank ", rank, " but is rank ", range.dims());
    }
    if (per_channel && range.dim_size(0) != depth) {
      return errors::InvalidArgument(name, " has incorrect size, expected ", depth, " was ", range.dim_size(0));
    }
  }
  return depth;
}

}  // namespace weir
