// The nn family: see README.md beside this file.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily NnFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterNnOps(OpRegistry& ops);

absl::Status RegisterNnGradients(OpRegistry& ops);
absl::Status RegisterNnNotDifferentiable(OpRegistry& ops);

absl::Status RegisterActivationKernels(KernelRegistry& kernels);
absl::Status RegisterBiasKernels(KernelRegistry& kernels);
absl::Status RegisterGpuNnKernels(KernelRegistry& kernels);

}  // namespace weir
