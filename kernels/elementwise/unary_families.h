// The parts of RegisterUnaryKernels, split so that each file compiles in seconds.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterRealUnaryKernels(KernelRegistry& kernels);
absl::Status RegisterComplexUnaryKernels(KernelRegistry& kernels);

}  // namespace weir
