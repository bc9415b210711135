// Input that is dealt in leased chunks.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily DealingFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterDealingOps(OpRegistry& ops);
absl::Status RegisterDealingNotDifferentiable(OpRegistry& ops);

absl::Status RegisterDealerKernels(KernelRegistry& kernels);
absl::Status RegisterDealtIteratorKernels(KernelRegistry& kernels);

}  // namespace weir
