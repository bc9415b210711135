#include "kernels/indexing/args_scatter.h"

namespace weir {

absl::Status CheckSliceUpdates(const TensorShape& indices, const TensorShape& updates, const TensorShape& shape) {
  if (indices.dims() < 1) {
    return errors::InvalidArgument("Indices shape must have rank at least one. Found:", indices.ToString());
  }
  if (updates.dims() < 1) {
    return errors::InvalidArgument("Updates shape must have rank at least one. Found:", updates.ToString());
  }
  const int outer = indices.dims() - 1;
  const int64_t depth = indices.dim_size(outer);
  const absl::Span<const int64_t> sizes = updates.dim_sizes();
  if (sizes.size() < static_cast<size_t>(outer) || sizes.first(outer) != indices.dim_sizes().first(outer)) {
    return errors::InvalidArgument("Dimensions [0,", outer, ") of indices[shape=", indices.ToString(),
                                   "] must match dimensions [0,", outer, ") of updates[shape=", updates.ToString(),
                                   "]");
  }
  if (depth > shape.dims() || sizes.subspan(outer) != shape.dim_sizes().subspan(depth)) {
    return errors::InvalidArgument("Dimensions [", depth, ",", shape.dims(), ") of input[shape=", shape.ToString(),
                                   "] must match dimensions [", outer, ",", updates.dims(),
                                   ") of updates[shape=", updates.ToString(), "]");
  }
  return absl::OkStatus();
}

}  // namespace weir
