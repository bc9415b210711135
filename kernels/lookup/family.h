// Hash tables that live across steps.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily LookupFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterLookupOps(OpRegistry& ops);
absl::Status RegisterLookupNotDifferentiable(OpRegistry& ops);

absl::Status RegisterLookupKernels(KernelRegistry& kernels);
absl::Status RegisterTableInitializers(KernelRegistry& kernels);
absl::Status RegisterTableMakers(KernelRegistry& kernels);

}  // namespace weir
