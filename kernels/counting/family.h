// The counting family: see README.md beside this file.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily CountingFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterCountingOps(OpRegistry& ops);
absl::Status RegisterCountingNotDifferentiable(OpRegistry& ops);
absl::Status RegisterIsotonicGradients(OpRegistry& ops);

absl::Status RegisterCountingKernels(KernelRegistry& kernels);
absl::Status RegisterFormatKernels(KernelRegistry& kernels);
absl::Status RegisterIsotonicKernels(KernelRegistry& kernels);

}  // namespace weir
