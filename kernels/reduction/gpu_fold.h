// A reduction along axes.
#pragma once

#include "core/gpu/gpu_runtime.h"
#include "core/tensor/tensor.h"
#include "kernels/device/gpu/bodies.h"

namespace weir {

struct FoldPlan {
  TensorShape shape;        // of the output
  bool is_trailing = true;  // only dimensions behind all others are folded
  FoldArgs args = {};       // but for the tensors

  // INVALID_ARGUMENT for axes that are none or come twice; UNIMPLEMENTED for more dimensions than kernels take.
  static absl::StatusOr<FoldPlan> Of(const TensorShape& input, absl::Span<const int64_t> axes, bool keep_dims);
  // `kernel` is FindBody's of the reduction.
  absl::Status Enqueue(GpuStream& stream, const GpuKernel& kernel, const Tensor& input, const Tensor& output) const;
};

}  // namespace weir
