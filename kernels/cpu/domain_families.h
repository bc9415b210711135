// Families of CPU kernels for ops of one field each, and for those that only old graphs have.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterAudioKernels(KernelRegistry& kernels);
absl::Status RegisterMfccKernels(KernelRegistry& kernels);
absl::Status RegisterClusterKernels(KernelRegistry& kernels);
absl::Status RegisterCompositeKernels(KernelRegistry& kernels);
absl::Status RegisterCsrConversionKernels(KernelRegistry& kernels);
absl::Status RegisterCsrProductKernels(KernelRegistry& kernels);
// After the kernels of today's names.
absl::Status RegisterFormerNames(KernelRegistry& kernels);

}  // namespace weir
