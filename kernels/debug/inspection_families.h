// Families of CPU kernels that look into files and tensors, and that factor sparse matrices.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterImmutableConstKernels(KernelRegistry& kernels);
absl::Status RegisterTensorHealthKernels(KernelRegistry& kernels);
absl::Status RegisterCsrCholeskyKernels(KernelRegistry& kernels);

}  // namespace weir
