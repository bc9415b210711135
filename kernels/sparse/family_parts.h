// The families of sparse kernels that RegisterSparseKernels registers.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterSparseReshapeKernels(KernelRegistry& kernels);
absl::Status RegisterSparseRearrangeKernels(KernelRegistry& kernels);
absl::Status RegisterSparseToDenseKernels(KernelRegistry& kernels);
absl::Status RegisterFillEmptyRowsKernels(KernelRegistry& kernels);
absl::Status RegisterSerializeSparseKernels(KernelRegistry& kernels);
absl::Status RegisterSparseTensorsMapKernels(KernelRegistry& kernels);
absl::Status RegisterSparseAddKernels(KernelRegistry& kernels);
absl::Status RegisterSparseMatMulKernels(KernelRegistry& kernels);
absl::Status RegisterSparseElementwiseKernels(KernelRegistry& kernels);
absl::Status RegisterSparseReduceKernels(KernelRegistry& kernels);
absl::Status RegisterCountKernels(KernelRegistry& kernels);
absl::Status RegisterSparseCrossKernels(KernelRegistry& kernels);
absl::Status RegisterSetKernels(KernelRegistry& kernels);

}  // namespace weir
