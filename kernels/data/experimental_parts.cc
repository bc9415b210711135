#include "kernels/data/experimental_parts.h"
#include "kernels/data/saved_parts.h"

namespace weir {

absl::Status RegisterRareDataKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterGroupByReducerKernels(kernels));
  RETURN_IF_ERROR(RegisterSlidingWindowKernels(kernels));
  RETURN_IF_ERROR(RegisterSparseBatchKernels(kernels));
  RETURN_IF_ERROR(RegisterParallelFilterKernels(kernels));
  RETURN_IF_ERROR(RegisterRebatchKernels(kernels));
  RETURN_IF_ERROR(RegisterAutoShardKernels(kernels));
  RETURN_IF_ERROR(RegisterCsvDatasetKernels(kernels));
  RETURN_IF_ERROR(RegisterSqlDatasetKernels(kernels));
  RETURN_IF_ERROR(RegisterParseExampleDatasetKernels(kernels));
  RETURN_IF_ERROR(RegisterMultiDeviceIteratorKernels(kernels));
  RETURN_IF_ERROR(RegisterProbeDatasetKernels(kernels));
  RETURN_IF_ERROR(RegisterRecordWriterKernels(kernels));
  RETURN_IF_ERROR(RegisterAssertedChainKernels(kernels));
  RETURN_IF_ERROR(RegisterCompressionKernels(kernels));
  RETURN_IF_ERROR(RegisterFingerprintKernels(kernels));
  RETURN_IF_ERROR(RegisterSnapshotShardKernels(kernels));
  RETURN_IF_ERROR(RegisterSaveDatasetKernels(kernels));
  RETURN_IF_ERROR(RegisterLoadDatasetKernels(kernels));
  RETURN_IF_ERROR(RegisterSnapshotKernels(kernels));
  RETURN_IF_ERROR(RegisterFlatteningKernels(kernels));
  return RegisterBatchSizeKernels(kernels);
}

}  // namespace weir
