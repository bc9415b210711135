// Random numbers, from a seed or a generator.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily RandomFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterRandomOps(OpRegistry& ops);
absl::Status RegisterRandomDistributionOps(OpRegistry& ops);
absl::Status RegisterRandomGradients(OpRegistry& ops);
absl::Status RegisterGeneratorOps(OpRegistry& ops);
absl::Status RegisterRandomNotDifferentiable(OpRegistry& ops);

absl::Status RegisterRandomBinomialKernels(KernelRegistry& kernels);
absl::Status RegisterRandomGammaKernels(KernelRegistry& kernels);
absl::Status RegisterRandomPoissonKernels(KernelRegistry& kernels);
absl::Status RegisterRandomKernels(KernelRegistry& kernels);
absl::Status RegisterRandomOrderKernels(KernelRegistry& kernels);
absl::Status RegisterSobolKernels(KernelRegistry& kernels);
absl::Status RegisterStatefulRandomKernels(KernelRegistry& kernels);
absl::Status RegisterStatelessRandomKernels(KernelRegistry& kernels);
absl::Status RegisterTruncatedNormalKernels(KernelRegistry& kernels);
absl::Status RegisterGpuMultinomialKernels(KernelRegistry& kernels);
absl::Status RegisterGpuRandomKernels(KernelRegistry& kernels);

}  // namespace weir
