// Ragged tensors: rows of different lengths.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily RaggedFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterRaggedOps(OpRegistry& ops);
absl::Status RegisterRaggedFillOps(OpRegistry& ops);

absl::Status RegisterRaggedGradients(OpRegistry& ops);
absl::Status RegisterRaggedNotDifferentiable(OpRegistry& ops);

absl::Status RegisterRaggedCrossKernels(KernelRegistry& kernels);
absl::Status RegisterRaggedGatherKernels(KernelRegistry& kernels);
absl::Status RegisterRaggedRangeKernels(KernelRegistry& kernels);
absl::Status RegisterRaggedConversionKernels(KernelRegistry& kernels);
absl::Status RegisterRaggedToTensorKernels(KernelRegistry& kernels);
absl::Status RegisterRaggedVariantKernels(KernelRegistry& kernels);
absl::Status RegisterRaggedFillEmptyRowsKernels(KernelRegistry& kernels);

absl::Status RegisterRaggedVariants(VariantRegistry& variants);

}  // namespace weir
