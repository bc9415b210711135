// LRN and LRNGrad.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterLrnKernels(KernelRegistry& kernels);

}  // namespace weir
