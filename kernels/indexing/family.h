// Ops that gather, scatter, find and partition elements by index.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily IndexingFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterIndexingOps(OpRegistry& ops);

absl::Status RegisterIndexingGradients(OpRegistry& ops);
absl::Status RegisterIndexingNotDifferentiable(OpRegistry& ops);

absl::Status RegisterGatherKernels(KernelRegistry& kernels);
absl::Status RegisterPartitionKernels(KernelRegistry& kernels);
absl::Status RegisterScatterKernels(KernelRegistry& kernels);
absl::Status RegisterUniqueKernels(KernelRegistry& kernels);
absl::Status RegisterWhereKernel(KernelRegistry& kernels);
absl::Status RegisterGpuGatherKernels(KernelRegistry& kernels);
absl::Status RegisterGpuPartitionKernels(KernelRegistry& kernels);
absl::Status RegisterGpuScatterKernels(KernelRegistry& kernels);
absl::Status RegisterGpuStitchKernels(KernelRegistry& kernels);
absl::Status RegisterGpuWhereKernels(KernelRegistry& kernels);

}  // namespace weir
