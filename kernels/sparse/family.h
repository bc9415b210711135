// Sparse tensors: rearranged, reduced, multiplied, counted and combined as sets.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily SparseFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterCsrOps(OpRegistry& ops);
absl::Status RegisterSparseOps(OpRegistry& ops);
absl::Status RegisterSparseCountOps(OpRegistry& ops);
absl::Status RegisterSparseMathOps(OpRegistry& ops);
absl::Status RegisterEditDistanceOps(OpRegistry& ops);
absl::Status RegisterSetOps(OpRegistry& ops);
absl::Status RegisterSparseCrossOps(OpRegistry& ops);

absl::Status RegisterCsrGradients(OpRegistry& ops);
absl::Status RegisterSparseGradients(OpRegistry& ops);
absl::Status RegisterSparseNotDifferentiable(OpRegistry& ops);

absl::Status RegisterSparseAddKernels(KernelRegistry& kernels);
absl::Status RegisterCountKernels(KernelRegistry& kernels);
absl::Status RegisterSparseCrossKernels(KernelRegistry& kernels);
absl::Status RegisterSparseElementwiseKernels(KernelRegistry& kernels);
absl::Status RegisterFillEmptyRowsKernels(KernelRegistry& kernels);
absl::Status RegisterSparseMatMulKernels(KernelRegistry& kernels);
absl::Status RegisterSparseRearrangeKernels(KernelRegistry& kernels);
absl::Status RegisterSparseReduceKernels(KernelRegistry& kernels);
absl::Status RegisterSparseReshapeKernels(KernelRegistry& kernels);
absl::Status RegisterSerializeSparseKernels(KernelRegistry& kernels);
absl::Status RegisterSetKernels(KernelRegistry& kernels);
absl::Status RegisterSparseTensorsMapKernels(KernelRegistry& kernels);
absl::Status RegisterSparseToDenseKernels(KernelRegistry& kernels);
absl::Status RegisterCsrCholeskyKernels(KernelRegistry& kernels);
absl::Status RegisterCsrConversionKernels(KernelRegistry& kernels);
absl::Status RegisterCsrProductKernels(KernelRegistry& kernels);
absl::Status RegisterGpuSparseProductKernels(KernelRegistry& kernels);
absl::Status RegisterEditDistanceKernels(KernelRegistry& kernels);

absl::Status RegisterCsrVariants(VariantRegistry& variants);

}  // namespace weir
