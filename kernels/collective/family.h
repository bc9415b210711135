// Ops in which all members of a group take part: all-reduce, all-gather, broadcast, all-to-all.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily CollectiveFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterCollectiveOps(OpRegistry& ops);

absl::Status RegisterCollectiveKernels(KernelRegistry& kernels);
absl::Status RegisterCommunicatorKernels(KernelRegistry& kernels);

}  // namespace weir
