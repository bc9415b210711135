#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

// Kernels that split, join, hash, format and convert strings.
absl::Status RegisterTextKernels(KernelRegistry& kernels);

}  // namespace weir
