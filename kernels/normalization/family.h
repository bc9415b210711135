// Batch normalisation and local response normalisation, with their gradients.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily NormalizationFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterGlobalNormalizationOps(OpRegistry& ops);
absl::Status RegisterNormalizationOps(OpRegistry& ops);
absl::Status RegisterFusedNormalizationOps(OpRegistry& ops);

absl::Status RegisterNormalizationGradients(OpRegistry& ops);
absl::Status RegisterBatchNormGradGradients(OpRegistry& ops);

absl::Status RegisterNormalizationKernels(KernelRegistry& kernels);
absl::Status RegisterLrnKernels(KernelRegistry& kernels);
absl::Status RegisterGpuNormKernels(KernelRegistry& kernels);
absl::Status RegisterGlobalNormalizationKernels(KernelRegistry& kernels);
absl::Status RegisterGpuLrnKernels(KernelRegistry& kernels);

}  // namespace weir
