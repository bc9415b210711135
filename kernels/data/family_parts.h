// The families of kernels around datasets, one source file each.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

// All of them.
absl::Status RegisterDataKernels(KernelRegistry& kernels);

absl::Status RegisterTensorSourceKernels(KernelRegistry& kernels);
absl::Status RegisterCountingDatasetKernels(KernelRegistry& kernels);
absl::Status RegisterCombiningKernels(KernelRegistry& kernels);
absl::Status RegisterPassThroughKernels(KernelRegistry& kernels);
absl::Status RegisterBatchKernels(KernelRegistry& kernels);
absl::Status RegisterPaddedBatchKernels(KernelRegistry& kernels);
absl::Status RegisterWindowKernels(KernelRegistry& kernels);
absl::Status RegisterMapKernels(KernelRegistry& kernels);
absl::Status RegisterParallelMapKernels(KernelRegistry& kernels);
absl::Status RegisterFilterKernels(KernelRegistry& kernels);
absl::Status RegisterScanDatasetKernels(KernelRegistry& kernels);
absl::Status RegisterInterleaveKernels(KernelRegistry& kernels);
absl::Status RegisterGroupKernels(KernelRegistry& kernels);
absl::Status RegisterPrefetchKernels(KernelRegistry& kernels);
absl::Status RegisterSeedGeneratorKernels(KernelRegistry& kernels);
absl::Status RegisterShuffleKernels(KernelRegistry& kernels);
absl::Status RegisterGlobalShuffleKernels(KernelRegistry& kernels);
absl::Status RegisterCacheKernels(KernelRegistry& kernels);
absl::Status RegisterRecordKernels(KernelRegistry& kernels);
absl::Status RegisterGeneratorKernels(KernelRegistry& kernels);
absl::Status RegisterIteratorKernels(KernelRegistry& kernels);
absl::Status RegisterOneShotKernels(KernelRegistry& kernels);
absl::Status RegisterOptionalKernels(KernelRegistry& kernels);
absl::Status RegisterConsumerKernels(KernelRegistry& kernels);
absl::Status RegisterGraphKernels(KernelRegistry& kernels);

}  // namespace weir
