// Kernels of regular expressions and of summaries.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterRegexKernels(KernelRegistry& kernels);
absl::Status RegisterSummaryKernels(KernelRegistry& kernels);

}  // namespace weir
