// Ops that fold dimensions away, find extremes along them, or keep running totals.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily ReductionFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterReductionOps(OpRegistry& ops);

absl::Status RegisterReductionGradients(OpRegistry& ops);
absl::Status RegisterReductionNotDifferentiable(OpRegistry& ops);

absl::Status RegisterArgKernels(KernelRegistry& kernels);
absl::Status RegisterCumulativeLogsumexpKernels(KernelRegistry& kernels);
absl::Status RegisterExtremeKernels(KernelRegistry& kernels);
absl::Status RegisterProductKernels(KernelRegistry& kernels);
absl::Status RegisterSumKernels(KernelRegistry& kernels);
absl::Status RegisterScanKernels(KernelRegistry& kernels);
absl::Status RegisterGpuFoldKernels(KernelRegistry& kernels);
absl::Status RegisterGpuOrderKernels(KernelRegistry& kernels);

}  // namespace weir
