// Chains of element-wise ops that run as one kernel.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily FusionFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterFusionOps(OpRegistry& ops);

absl::Status RegisterGpuFusedKernels(KernelRegistry& kernels);

}  // namespace weir
