// The ranking family: see README.md beside this file.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily RankingFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterSearchOps(OpRegistry& ops);

absl::Status RegisterRankingGradients(OpRegistry& ops);
absl::Status RegisterRankingNotDifferentiable(OpRegistry& ops);

absl::Status RegisterApproxTopKKernels(KernelRegistry& kernels);
absl::Status RegisterTopKKernels(KernelRegistry& kernels);

}  // namespace weir
