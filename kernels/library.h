// The families of ops in this build, one line each in library.cc.
#pragma once

#include <vector>

#include "kernels/op_family.h"

namespace weir {

std::vector<OpFamily> AllFamilies();

// Definitions and gradients of every family.
absl::Status RegisterAllOps(OpRegistry& ops);
absl::Status RegisterAllKernels(KernelRegistry& kernels);
// Decoders of variants that another task sent or that a file holds.
absl::Status RegisterAllVariants(VariantRegistry& variants);

}  // namespace weir
