// Kernels of objects by which parts of a graph, and steps, coordinate, and of updates of parts of variables.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterAccumulatorKernels(KernelRegistry& kernels);
absl::Status RegisterBarrierKernels(KernelRegistry& kernels);
absl::Status RegisterCollectiveKernels(KernelRegistry& kernels);
absl::Status RegisterCommunicatorKernels(KernelRegistry& kernels);
absl::Status RegisterStagingKernels(KernelRegistry& kernels);
absl::Status RegisterMutexKernels(KernelRegistry& kernels);
absl::Status RegisterReaderKernels(KernelRegistry& kernels);
absl::Status RegisterStridedSliceAssignKernels(KernelRegistry& kernels);
absl::Status RegisterInplaceKernels(KernelRegistry& kernels);
absl::Status RegisterStatefulRandomKernels(KernelRegistry& kernels);
absl::Status RegisterMediaSummaryKernels(KernelRegistry& kernels);
absl::Status RegisterSummaryWriterKernels(KernelRegistry& kernels);
absl::Status RegisterSliceTableKernels(KernelRegistry& kernels);

}  // namespace weir
