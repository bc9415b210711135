// Select and SelectV2 on GPUs, for kernels of other families too.
#pragma once

#include "core/gpu/gpu_runtime.h"
#include "core/tensor/tensor.h"

namespace weir {

struct SelectShapes {
  TensorShape output;
  TensorShape condition;  // as it is broadcast to that: Select has a condition for each row too

  // Of Select or SelectV2. INVALID_ARGUMENT, with TensorFlow's message, if shapes do not match.
  static absl::StatusOr<SelectShapes> Of(absl::string_view op, const TensorShape& condition, const TensorShape& t,
                                         const TensorShape& e);
  // `kernel` is FindMove's "Select".
  absl::Status Enqueue(GpuStream& stream, const GpuKernel& kernel, const Tensor& condition_tensor, const Tensor& t,
                       const Tensor& e, const Tensor& out) const;
};

}  // namespace weir
