// The families of ragged kernels that RegisterRaggedKernels registers.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterRaggedRangeKernels(KernelRegistry& kernels);
absl::Status RegisterRaggedConversionKernels(KernelRegistry& kernels);
absl::Status RegisterRaggedToTensorKernels(KernelRegistry& kernels);
absl::Status RegisterRaggedGatherKernels(KernelRegistry& kernels);
absl::Status RegisterRaggedVariantKernels(KernelRegistry& kernels);
absl::Status RegisterRaggedCrossKernels(KernelRegistry& kernels);

}  // namespace weir
