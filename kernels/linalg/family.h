// Registers dense linear algebra, matrix products and einsum.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily LinalgFamily();

// The parts; only family.cc calls them.
absl::Status RegisterLinearAlgebraOps(OpRegistry& ops);
absl::Status RegisterDecompositionOps(OpRegistry& ops);
absl::Status RegisterDeprecatedOps(OpRegistry& ops);
absl::Status RegisterMatrixFunctionOps(OpRegistry& ops);
absl::Status RegisterFusedMatMulOps(OpRegistry& ops);

absl::Status RegisterDecompositionGradients(OpRegistry& ops);
absl::Status RegisterSpectralGradients(OpRegistry& ops);
absl::Status RegisterTridiagonalGradients(OpRegistry& ops);
absl::Status RegisterMatMulGradients(OpRegistry& ops);
absl::Status RegisterEinsumGradients(OpRegistry& ops);

absl::Status RegisterDeprecatedKernels(KernelRegistry& kernels);
absl::Status RegisterEigKernels(KernelRegistry& kernels);
absl::Status RegisterLeastSquaresKernels(KernelRegistry& kernels);
absl::Status RegisterLuKernels(KernelRegistry& kernels);
absl::Status RegisterMatrixFunctionKernels(KernelRegistry& kernels);
absl::Status RegisterQrKernels(KernelRegistry& kernels);
absl::Status RegisterSelfAdjointKernels(KernelRegistry& kernels);
absl::Status RegisterSolverKernels(KernelRegistry& kernels);
absl::Status RegisterSvdKernels(KernelRegistry& kernels);
absl::Status RegisterTridiagonalKernels(KernelRegistry& kernels);
absl::Status RegisterEinsumKernels(KernelRegistry& kernels);
absl::Status RegisterMatMulKernels(KernelRegistry& kernels);
absl::Status RegisterGpuEinsumKernels(KernelRegistry& kernels);
absl::Status RegisterGpuMatMulKernels(KernelRegistry& kernels);
absl::Status RegisterBatchMatMulV3Kernels(KernelRegistry& kernels);

}  // namespace weir
