#include "kernels/indexing/args_partition.h"

#include <algorithm>
#include <numeric>

#include "kernels/device/element_name.h"

namespace weir {

absl::StatusOr<PartitionedRows> PartitionedRows::Of(OpKernelContext& ctx) {
  const TensorShape& data = ctx.input(0).shape();
  const Tensor& partitions = ctx.input(1);
  const int outer = partitions.dims();
  if (data.dims() < outer || data.dim_sizes().first(outer) != partitions.shape().dim_sizes()) {
    return errors::InvalidArgument("data.shape must start with partitions.shape, got data.shape = ", data.ToString(),
                                   ", partitions.shape = ", partitions.shape().ToString());
  }
  PartitionedRows rows;
  rows.row = TensorShape(data.dim_sizes().subspan(outer));
  rows.counts.resize(ctx.num_outputs(), 0);
  const absl::Span<const int32_t> to = partitions.flat<int32_t>();
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] < 0 || to[i] >= ctx.num_outputs()) {
      return errors::InvalidArgument("partitions", ElementName(partitions.shape(), static_cast<int64_t>(i)), " = ",
                                     to[i], " is not in [0, ", ctx.num_outputs(), ")");
    }
    ++rows.counts[to[i]];
  }
  return rows;
}

absl::StatusOr<TensorShape> PartitionedRows::Shape(int part) const {
  TensorShape shape({counts[part]});
  RETURN_IF_ERROR(shape.Append(row));
  return shape;
}

DimVector GroupStarts(const DimVector& group_of_row, int64_t groups) {
  DimVector starts(groups + 1, 0);
  for (const int64_t group : group_of_row) ++starts[group + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  return starts;
}

Tensor IndexTensor(const DimVector& values) {
  Tensor tensor(DT_INT64, TensorShape({static_cast<int64_t>(values.size())}));
  std::copy(values.begin(), values.end(), tensor.data<int64_t>());
  return tensor;
}

}  // namespace weir
