// Rows that go to one of several outputs: arguments of DynamicPartition, and groups of rows for GPU kernels.
#pragma once

#include "core/kernel/op_kernel.h"

namespace weir {

// Inputs: data, and in host memory the partition of each row. InvalidArgument if they do not match.
struct PartitionedRows {
  static absl::StatusOr<PartitionedRows> Of(OpKernelContext& ctx);
  // Of output `part`.
  absl::StatusOr<TensorShape> Shape(int part) const;

  TensorShape row;   // what follows the partitions' dimensions in data
  DimVector counts;  // of the rows of each partition
};

// Where the rows of each of `groups` start once rows are grouped; the last element is the number of rows.
DimVector GroupStarts(const DimVector& group_of_row, int64_t groups);
// `values` as an int64 vector in host memory.
Tensor IndexTensor(const DimVector& values);

}  // namespace weir
