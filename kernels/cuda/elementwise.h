// The element-wise kernels, for those of other ops that do the same.
#pragma once

#include <string>

#include "core/gpu/gpu_runtime.h"
#include "core/types.h"
#include "kernels/cuda/elementwise_args.h"

namespace weir {

// Of `op` for operands of `type`; takes ElementwiseArgs. UNIMPLEMENTED where there is none.
absl::StatusOr<GpuKernel> FindElementwise(const std::string& op, DataType type);

}  // namespace weir
