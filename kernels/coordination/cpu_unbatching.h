#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

// Unbatch and UnbatchGrad.
absl::Status RegisterUnbatchingKernels(KernelRegistry& kernels);

}  // namespace weir
