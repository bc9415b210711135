#include "kernels/data/rare_families.h"

namespace weir {

absl::Status RegisterRareDataKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterGroupByReducerKernels(kernels));
  RETURN_IF_ERROR(RegisterSlidingWindowKernels(kernels));
  RETURN_IF_ERROR(RegisterSparseBatchKernels(kernels));
  RETURN_IF_ERROR(RegisterParallelFilterKernels(kernels));
  RETURN_IF_ERROR(RegisterRebatchKernels(kernels));
  RETURN_IF_ERROR(RegisterAutoShardKernels(kernels));
  RETURN_IF_ERROR(RegisterCsvDatasetKernels(kernels));
  RETURN_IF_ERROR(RegisterParseExampleDatasetKernels(kernels));
  RETURN_IF_ERROR(RegisterMultiDeviceIteratorKernels(kernels));
  RETURN_IF_ERROR(RegisterProbeDatasetKernels(kernels));
  return RegisterRecordWriterKernels(kernels);
}

}  // namespace weir
