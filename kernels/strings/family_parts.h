// The families of kernels that RegisterTextKernels registers.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterStringFormatKernels(KernelRegistry& kernels);
absl::Status RegisterSplitKernels(KernelRegistry& kernels);
absl::Status RegisterNGramsKernels(KernelRegistry& kernels);
absl::Status RegisterSubstrKernels(KernelRegistry& kernels);
absl::Status RegisterStringHashKernels(KernelRegistry& kernels);
absl::Status RegisterJoinStringsKernels(KernelRegistry& kernels);
absl::Status RegisterRegexReplaceKernels(KernelRegistry& kernels);
absl::Status RegisterUnicodeKernels(KernelRegistry& kernels);

}  // namespace weir
