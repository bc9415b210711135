// Embedding tables that grow with their keys.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily EmbeddingFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterEmbeddingOps(OpRegistry& ops);
absl::Status RegisterEmbeddingNotDifferentiable(OpRegistry& ops);

absl::Status RegisterEmbeddingMapKernels(KernelRegistry& kernels);
absl::Status RegisterEmbeddingMoveKernels(KernelRegistry& kernels);
absl::Status RegisterEmbeddingPartitionKernels(KernelRegistry& kernels);
absl::Status RegisterEmbeddingPullStatusKernel(KernelRegistry& kernels);
absl::Status RegisterEmbeddingKernels(KernelRegistry& kernels);
absl::Status RegisterEmbeddingTransferKernels(KernelRegistry& kernels);
absl::Status RegisterEmbeddingUpdateKernels(KernelRegistry& kernels);

}  // namespace weir
