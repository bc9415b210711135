// Families of kernels around datasets that are saved, compressed, told by what they are, or flattened by index.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterAssertedChainKernels(KernelRegistry& kernels);
absl::Status RegisterCompressionKernels(KernelRegistry& kernels);
absl::Status RegisterFingerprintKernels(KernelRegistry& kernels);
absl::Status RegisterSnapshotShardKernels(KernelRegistry& kernels);
absl::Status RegisterSaveDatasetKernels(KernelRegistry& kernels);
absl::Status RegisterLoadDatasetKernels(KernelRegistry& kernels);
absl::Status RegisterSnapshotKernels(KernelRegistry& kernels);
absl::Status RegisterFlatteningKernels(KernelRegistry& kernels);
absl::Status RegisterBatchSizeKernels(KernelRegistry& kernels);

}  // namespace weir
