// Element-wise GPU bodies and shapes for kernels of other families.
#pragma once

#include <string>

#include "core/gpu/gpu_runtime.h"
#include "core/tensor/tensor_shape.h"
#include "core/tensor/types.h"
#include "kernels/elementwise/device.h"

namespace weir {

// The output shape of two operands broadcast together. Sets sizes and steps in `args`, collapsed to as few dimensions
// as possible. INVALID_ARGUMENT if shapes do not match; UNIMPLEMENTED beyond kMaxElementwiseRank.
absl::StatusOr<TensorShape> BroadcastElementwise(const TensorShape& x, const TensorShape& y, ElementwiseArgs* args);

// INVALID_ARGUMENT, naming the node and the input, unless all inputs of an AddN have the first one's shape.
absl::Status CheckAddends(absl::string_view node, absl::Span<const TensorShape> inputs);

// Of `op` for operands of `type`; takes ElementwiseArgs. UNIMPLEMENTED if there is none.
absl::StatusOr<GpuKernel> FindElementwise(const std::string& op, DataType type);

}  // namespace weir
