// The collective family: see README.md beside this file.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily CollectiveFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterCollectiveOps(OpRegistry& ops);

absl::Status RegisterCollectiveKernels(KernelRegistry& kernels);
absl::Status RegisterCommunicatorKernels(KernelRegistry& kernels);

}  // namespace weir
