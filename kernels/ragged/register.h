#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterRaggedKernels(KernelRegistry& kernels);

}  // namespace weir
