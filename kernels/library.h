// The families of ops in this build, one line each in library.cc.
#pragma once

#include <vector>

#include "kernels/op_family.h"

namespace weir {

std::vector<OpFamily> AllFamilies();

// Definitions and gradients of every family, and of every plug-in that this process has loaded.
absl::Status RegisterAllOps(OpRegistry& ops);
absl::Status RegisterAllKernels(KernelRegistry& kernels);
// Decoders of variants that another task sent or that a file holds.
absl::Status RegisterAllVariants(VariantRegistry& variants);
// The error of registering `family` beside all of these.
absl::Status CheckFamily(const OpFamily& family);

}  // namespace weir
