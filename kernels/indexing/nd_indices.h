// Indices of slices, as GatherNd and the scatter ops read them.
#pragma once

#include "core/kernel/kernel_registry.h"
#include "core/kernel/op_kernel.h"
#include "core/status.h"
#include "core/tensor/tensor.h"

namespace weir {

// The indices of GatherNd and the scatter ops: each row of the innermost dimension names a slice of a tensor.
struct NdIndices {
  TensorShape outer;          // of the indices, without the innermost dimension
  TensorShape slice;          // of what one row names
  int64_t depth = 0;          // of a row
  DimVector values, offsets;  // offsets: in slices; -1 where a row is out of bounds
  int64_t first_bad = -1;     // the first such row

  // InvalidArgument where the ranks do not allow it; `what` names the tensor of that shape.
  static absl::StatusOr<NdIndices> Of(const Tensor& indices, const TensorShape& shape, absl::string_view what);
  // What to say about the first bad row; `what` is "shape" or "param shape".
  absl::Status Error(absl::string_view what, const TensorShape& shape) const;
};

// Whether attribute bad_indices_policy asks to skip bad indices.
absl::StatusOr<bool> IgnoresBadIndices(OpKernelConstruction& ctx);

}  // namespace weir
