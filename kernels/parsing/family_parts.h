// The families of kernels that RegisterParsingKernels registers.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterExampleKernels(KernelRegistry& kernels);
absl::Status RegisterSequenceExampleKernels(KernelRegistry& kernels);
absl::Status RegisterDecodeBytesKernels(KernelRegistry& kernels);
absl::Status RegisterDecodeCsvKernels(KernelRegistry& kernels);
absl::Status RegisterDecodeJsonKernels(KernelRegistry& kernels);
absl::Status RegisterEditDistanceKernels(KernelRegistry& kernels);
absl::Status RegisterRemappingKernels(KernelRegistry& kernels);

}  // namespace weir
