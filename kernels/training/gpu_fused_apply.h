// The part of RegisterGpuApplyKernels that is for many variables at a time.
#pragma once

#include "core/kernel_registry.h"

namespace weir {

absl::Status RegisterGpuFusedApplyKernels(KernelRegistry& kernels);

}  // namespace weir
