// Where.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterWhereKernel(KernelRegistry& kernels);

}  // namespace weir
