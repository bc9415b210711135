// The largest elements of rows, exact or approximate, with their gradients.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily RankingFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterRankingOps(OpRegistry& ops);

absl::Status RegisterRankingNotDifferentiable(OpRegistry& ops);
absl::Status RegisterRankingGradients(OpRegistry& ops);

absl::Status RegisterApproxTopKKernels(KernelRegistry& kernels);
absl::Status RegisterTopKKernels(KernelRegistry& kernels);
absl::Status RegisterGpuInTopKKernels(KernelRegistry& kernels);
absl::Status RegisterGpuTopKKernels(KernelRegistry& kernels);

}  // namespace weir
