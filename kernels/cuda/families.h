// Registration of the kernels for GPUs, by family.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterGpuElementwiseKernels(KernelRegistry& kernels);

}  // namespace weir
