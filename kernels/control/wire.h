// What stands before a _Send and behind its _Recv where a tensor is cast or compressed between tasks.
#pragma once

#include "core/kernel_registry.h"
#include "core/op_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterWireOps(OpRegistry& ops);
absl::Status RegisterWireKernels(KernelRegistry& kernels);

}  // namespace weir
