// Datasets, their transformations and iterators.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily DataFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterDatasetOps(OpRegistry& ops);
absl::Status RegisterIteratorOps(OpRegistry& ops);
absl::Status RegisterSavedDatasetOps(OpRegistry& ops);
absl::Status RegisterDatasetSourceOps(OpRegistry& ops);
absl::Status RegisterMultiDeviceIteratorOps(OpRegistry& ops);
absl::Status RegisterOptionalOps(OpRegistry& ops);
absl::Status RegisterTransformationOps(OpRegistry& ops);
absl::Status RegisterBatchDatasetOps(OpRegistry& ops);
absl::Status RegisterFunctionDatasetOps(OpRegistry& ops);
absl::Status RegisterUnchangedElementOps(OpRegistry& ops);

absl::Status RegisterOptionalGradients(OpRegistry& ops);
absl::Status RegisterDataNotDifferentiable(OpRegistry& ops);

absl::Status RegisterAssertedChainKernels(KernelRegistry& kernels);
absl::Status RegisterAutoShardKernels(KernelRegistry& kernels);
absl::Status RegisterCompressionKernels(KernelRegistry& kernels);
absl::Status RegisterConsumerKernels(KernelRegistry& kernels);
absl::Status RegisterGraphKernels(KernelRegistry& kernels);
absl::Status RegisterFingerprintKernels(KernelRegistry& kernels);
absl::Status RegisterIteratorKernels(KernelRegistry& kernels);
absl::Status RegisterMultiDeviceIteratorKernels(KernelRegistry& kernels);
absl::Status RegisterOneShotKernels(KernelRegistry& kernels);
absl::Status RegisterOptionalKernels(KernelRegistry& kernels);
absl::Status RegisterRecordWriterKernels(KernelRegistry& kernels);
absl::Status RegisterSaveDatasetKernels(KernelRegistry& kernels);
absl::Status RegisterSnapshotKernels(KernelRegistry& kernels);
absl::Status RegisterSnapshotShardKernels(KernelRegistry& kernels);
absl::Status RegisterSeedGeneratorKernels(KernelRegistry& kernels);
absl::Status RegisterCsvDatasetKernels(KernelRegistry& kernels);
absl::Status RegisterGeneratorKernels(KernelRegistry& kernels);
absl::Status RegisterLoadDatasetKernels(KernelRegistry& kernels);
absl::Status RegisterRecordKernels(KernelRegistry& kernels);
absl::Status RegisterSqlDatasetKernels(KernelRegistry& kernels);
absl::Status RegisterTensorSourceKernels(KernelRegistry& kernels);
absl::Status RegisterBatchKernels(KernelRegistry& kernels);
absl::Status RegisterBatchSizeKernels(KernelRegistry& kernels);
absl::Status RegisterCacheKernels(KernelRegistry& kernels);
absl::Status RegisterCombiningKernels(KernelRegistry& kernels);
absl::Status RegisterCountingDatasetKernels(KernelRegistry& kernels);
absl::Status RegisterFilterKernels(KernelRegistry& kernels);
absl::Status RegisterFlatteningKernels(KernelRegistry& kernels);
absl::Status RegisterGlobalShuffleKernels(KernelRegistry& kernels);
absl::Status RegisterGroupKernels(KernelRegistry& kernels);
absl::Status RegisterGroupByReducerKernels(KernelRegistry& kernels);
absl::Status RegisterInterleaveKernels(KernelRegistry& kernels);
absl::Status RegisterMapKernels(KernelRegistry& kernels);
absl::Status RegisterPaddedBatchKernels(KernelRegistry& kernels);
absl::Status RegisterParallelFilterKernels(KernelRegistry& kernels);
absl::Status RegisterParallelMapKernels(KernelRegistry& kernels);
absl::Status RegisterParseExampleDatasetKernels(KernelRegistry& kernels);
absl::Status RegisterPrefetchKernels(KernelRegistry& kernels);
absl::Status RegisterRebatchKernels(KernelRegistry& kernels);
absl::Status RegisterScanDatasetKernels(KernelRegistry& kernels);
absl::Status RegisterShuffleKernels(KernelRegistry& kernels);
absl::Status RegisterSlidingWindowKernels(KernelRegistry& kernels);
absl::Status RegisterSparseBatchKernels(KernelRegistry& kernels);
absl::Status RegisterWindowKernels(KernelRegistry& kernels);
absl::Status RegisterIgnoreErrorsKernels(KernelRegistry& kernels);
absl::Status RegisterUniqueDatasetKernels(KernelRegistry& kernels);
absl::Status RegisterDatasetOptionsKernels(KernelRegistry& kernels);
absl::Status RegisterSleepDatasetKernels(KernelRegistry& kernels);
absl::Status RegisterSamplingDatasetKernels(KernelRegistry& kernels);
absl::Status RegisterWrappingDatasetKernels(KernelRegistry& kernels);

absl::Status RegisterCompressedElementVariants(VariantRegistry& variants);

}  // namespace weir
