// Argument checks of StridedSlice, its gradient and its assignments for all devices.
#pragma once

#include "core/kernel/op_kernel.h"
#include "kernels/array/slicing/strided_slice_spec.h"

namespace weir {

// The five masks of a node, and inputs 1 to 3: begin, end and strides, in host memory.
class StridedSliceArgs {
 public:
  absl::Status Init(OpKernelConstruction& ctx);
  // The slice of a tensor of `shape`.
  absl::StatusOr<StridedSliceSpec> Select(OpKernelContext& ctx, const TensorShape& shape) const;
  // As StridedSliceGrad: of a tensor whose shape input 0 holds, for input 4, which must have the slice's shape.
  absl::StatusOr<StridedSliceSpec> SelectGradient(OpKernelContext& ctx, TensorShape* shape) const;

 private:
  StridedSliceMasks masks_;
};

// Where a slice that is not empty begins in a dense tensor of `shape`, and the steps through it, in elements.
struct StridedSlicePlaces {
  StridedSlicePlaces(const StridedSliceSpec& spec, const TensorShape& shape);

  int64_t start = 0;
  DimVector steps;
};

}  // namespace weir
