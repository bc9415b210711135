#include "kernels/data/family_parts.h"

namespace weir {

absl::Status RegisterDataKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterTensorSourceKernels(kernels));
  RETURN_IF_ERROR(RegisterCountingDatasetKernels(kernels));
  RETURN_IF_ERROR(RegisterCombiningKernels(kernels));
  RETURN_IF_ERROR(RegisterPassThroughKernels(kernels));
  RETURN_IF_ERROR(RegisterBatchKernels(kernels));
  RETURN_IF_ERROR(RegisterPaddedBatchKernels(kernels));
  RETURN_IF_ERROR(RegisterWindowKernels(kernels));
  RETURN_IF_ERROR(RegisterMapKernels(kernels));
  RETURN_IF_ERROR(RegisterParallelMapKernels(kernels));
  RETURN_IF_ERROR(RegisterFilterKernels(kernels));
  RETURN_IF_ERROR(RegisterScanDatasetKernels(kernels));
  RETURN_IF_ERROR(RegisterInterleaveKernels(kernels));
  RETURN_IF_ERROR(RegisterGroupKernels(kernels));
  RETURN_IF_ERROR(RegisterPrefetchKernels(kernels));
  RETURN_IF_ERROR(RegisterSeedGeneratorKernels(kernels));
  RETURN_IF_ERROR(RegisterShuffleKernels(kernels));
  RETURN_IF_ERROR(RegisterGlobalShuffleKernels(kernels));
  RETURN_IF_ERROR(RegisterCacheKernels(kernels));
  RETURN_IF_ERROR(RegisterRecordKernels(kernels));
  RETURN_IF_ERROR(RegisterGeneratorKernels(kernels));
  RETURN_IF_ERROR(RegisterIteratorKernels(kernels));
  RETURN_IF_ERROR(RegisterOneShotKernels(kernels));
  RETURN_IF_ERROR(RegisterOptionalKernels(kernels));
  RETURN_IF_ERROR(RegisterConsumerKernels(kernels));
  return RegisterGraphKernels(kernels);
}

}  // namespace weir
