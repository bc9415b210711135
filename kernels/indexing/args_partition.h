// What DynamicPartition makes of rows, on whatever device.
#pragma once

#include "core/op_kernel.h"

namespace weir {

// Inputs: data, and in host memory the partition of each row. InvalidArgument where they do not fit.
struct PartitionedRows {
  static absl::StatusOr<PartitionedRows> Of(OpKernelContext& ctx);
  // Of output `part`.
  absl::StatusOr<TensorShape> Shape(int part) const;

  TensorShape row;   // what follows the partitions' dimensions in data
  DimVector counts;  // of the rows of each partition
};

}  // namespace weir
