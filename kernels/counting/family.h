// Ops that count and rank values: bins, histograms, sorted searches, and small ops on indices and formats.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily CountingFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterCountingOps(OpRegistry& ops);

absl::Status RegisterIsotonicGradients(OpRegistry& ops);
absl::Status RegisterCrossGradients(OpRegistry& ops);
absl::Status RegisterCountingNotDifferentiable(OpRegistry& ops);

absl::Status RegisterBincountKernels(KernelRegistry& kernels);
absl::Status RegisterCountingKernels(KernelRegistry& kernels);
absl::Status RegisterFormatKernels(KernelRegistry& kernels);
absl::Status RegisterIsotonicKernels(KernelRegistry& kernels);
absl::Status RegisterGpuBincountKernels(KernelRegistry& kernels);
absl::Status RegisterGpuCountingKernels(KernelRegistry& kernels);

}  // namespace weir
