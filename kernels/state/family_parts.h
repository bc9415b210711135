// The parts of RegisterStateKernels, one source file each.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterResourceVariableKernels(KernelRegistry& kernels);
absl::Status RegisterRefVariableKernels(KernelRegistry& kernels);
absl::Status RegisterAssignUpdateKernels(KernelRegistry& kernels);
absl::Status RegisterScatterUpdateKernels(KernelRegistry& kernels);
absl::Status RegisterScatterNdUpdateKernels(KernelRegistry& kernels);
absl::Status RegisterResourceGatherKernels(KernelRegistry& kernels);

}  // namespace weir
