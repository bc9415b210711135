// The fusion family: see README.md beside this file.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily FusionFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterFusedOps(OpRegistry& ops);
absl::Status RegisterOptimizerOps(OpRegistry& ops);

absl::Status RegisterGpuFusedKernels(KernelRegistry& kernels);

}  // namespace weir
