// Families of kernels around datasets that few programs use, one source file each.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

// All of them.
absl::Status RegisterRareDataKernels(KernelRegistry& kernels);

absl::Status RegisterGroupByReducerKernels(KernelRegistry& kernels);
absl::Status RegisterSlidingWindowKernels(KernelRegistry& kernels);
absl::Status RegisterSparseBatchKernels(KernelRegistry& kernels);
absl::Status RegisterParallelFilterKernels(KernelRegistry& kernels);
absl::Status RegisterRebatchKernels(KernelRegistry& kernels);
absl::Status RegisterAutoShardKernels(KernelRegistry& kernels);
absl::Status RegisterCsvDatasetKernels(KernelRegistry& kernels);
absl::Status RegisterSqlDatasetKernels(KernelRegistry& kernels);
absl::Status RegisterParseExampleDatasetKernels(KernelRegistry& kernels);
absl::Status RegisterMultiDeviceIteratorKernels(KernelRegistry& kernels);
absl::Status RegisterProbeDatasetKernels(KernelRegistry& kernels);
absl::Status RegisterRecordWriterKernels(KernelRegistry& kernels);

}  // namespace weir
