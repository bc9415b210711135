// The element-wise kernels, for those of other ops that do the same.
#pragma once

#include <string>

#include "core/gpu/gpu_runtime.h"
#include "core/tensor_shape.h"
#include "core/types.h"
#include "kernels/elementwise/device.h"

namespace weir {

// The shape of what comes of two operands that are broadcast against each other, and in `args` how their elements are
// found, in as few dimensions as the shapes allow. INVALID_ARGUMENT where shapes do not match; UNIMPLEMENTED beyond
// kMaxElementwiseRank.
absl::StatusOr<TensorShape> BroadcastElementwise(const TensorShape& x, const TensorShape& y, ElementwiseArgs* args);

// INVALID_ARGUMENT, naming the node and the input, unless all inputs of an AddN have the first one's shape.
absl::Status CheckAddends(absl::string_view node, absl::Span<const TensorShape> inputs);

// Of `op` for operands of `type`; takes ElementwiseArgs. UNIMPLEMENTED where there is none.
absl::StatusOr<GpuKernel> FindElementwise(const std::string& op, DataType type);

}  // namespace weir
