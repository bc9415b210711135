// Functions for kernels that copy elements at regular steps.
#pragma once

#include "kernels/device/gpu/body_kernel.h"

namespace weir {

// The elements of `input` that steps along `sizes` find, from `offset` on: those of a dense tensor of `shape`.
struct StridedSource {
  const Tensor& input;
  int64_t offset = 0;
  DimVector steps, sizes;
  TensorShape shape;
};

// Writes it to `output`, a tensor of source.shape.
absl::Status WriteStrided(GpuStream& stream, const StridedSource& source, const Tensor& output);
// Makes output `i` of it.
absl::Status CopyStrided(OpKernelContext& ctx, GpuStream& stream, int i, const StridedSource& source);

// The places of a dense tensor of `target` at `steps`, from `offset` on, in one of a kernel's tensors.
struct StridedTarget {
  const Tensor& tensor;
  int64_t offset = 0;
  DimVector sizes, steps;
};
// Puts the elements that `from_steps` find in `source` there.
absl::Status StoreStrided(GpuStream& stream, const Tensor& source, const DimVector& from_steps,
                          const DimVector& from_sizes, const StridedTarget& target);

}  // namespace weir
