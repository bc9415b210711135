// Families of CPU kernels that look into files and tensors.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterImmutableConstKernels(KernelRegistry& kernels);
absl::Status RegisterTensorHealthKernels(KernelRegistry& kernels);

}  // namespace weir
