#include "kernels/indexing/args_stitch.h"

#include <algorithm>

namespace weir {

absl::StatusOr<StitchedRows> StitchedRows::Of(OpKernelContext& ctx) {
  const int n = ctx.num_inputs() / 2;
  StitchedRows rows;
  int64_t highest = -1;
  for (int i = 0; i < n; ++i) {
    const Tensor& indices = ctx.input(i);
    const TensorShape& data = ctx.input(n + i).shape();
    if (data.dims() < indices.dims() || data.dim_sizes().first(indices.dims()) != indices.shape().dim_sizes()) {
      return errors::InvalidArgument("data[", i, "].shape = ", data.ToString(), " does not start with indices[", i,
                                     "].shape = ", indices.shape().ToString());
    }
    const TensorShape rest(data.dim_sizes().subspan(indices.dims()));
    if (i == 0) rows.row = rest;
    if (rest != rows.row) {
      return errors::InvalidArgument("Need data[0].shape[", ctx.input(0).dims(), ":] = data[", i, "].shape[",
                                     indices.dims(), ":], got data[0].shape = ", ctx.input(n).shape().ToString(),
                                     ", data[", i, "].shape = ", data.ToString(),
                                     ", indices[0].shape = ", ctx.input(0).shape().ToString(), ", indices[", i,
                                     "].shape = ", indices.shape().ToString());
    }
    for (int64_t j = 0; j < indices.NumElements(); ++j) {
      const int32_t index = indices.data<int32_t>()[j];
      if (index < 0) return errors::InvalidArgument("indices[", j, "] is out of range");
      highest = std::max<int64_t>(highest, index);
    }
    rows.num_indices += indices.NumElements();
  }
  rows.shape = TensorShape({highest + 1});
  RETURN_IF_ERROR(rows.shape.Append(rows.row));
  return rows;
}

}  // namespace weir
