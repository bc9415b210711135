#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

// Kernels of sparse tensors, and those that count, cross and combine what they hold.
absl::Status RegisterSparseKernels(KernelRegistry& kernels);

}  // namespace weir
