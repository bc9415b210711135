// The parts of RegisterEmbeddingKernels.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterEmbeddingUpdateKernels(KernelRegistry& kernels);
absl::Status RegisterEmbeddingTransferKernels(KernelRegistry& kernels);
absl::Status RegisterEmbeddingPartitionKernels(KernelRegistry& kernels);
absl::Status RegisterEmbeddingMapKernels(KernelRegistry& kernels);
absl::Status RegisterEmbeddingMoveKernels(KernelRegistry& kernels);
absl::Status RegisterEmbeddingPullStatusKernel(KernelRegistry& kernels);

}  // namespace weir
