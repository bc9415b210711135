// The linalg family: see README.md beside this file.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily LinalgFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterLinearAlgebraOps(OpRegistry& ops);
absl::Status RegisterDecompositionOps(OpRegistry& ops);
absl::Status RegisterFormerOps(OpRegistry& ops);
absl::Status RegisterMatrixFunctionOps(OpRegistry& ops);
absl::Status RegisterFusedMatMulOps(OpRegistry& ops);

absl::Status RegisterDecompositionGradients(OpRegistry& ops);
absl::Status RegisterSpectralGradients(OpRegistry& ops);
absl::Status RegisterTridiagonalGradients(OpRegistry& ops);
absl::Status RegisterMatMulGradients(OpRegistry& ops);
absl::Status RegisterEinsumGradients(OpRegistry& ops);

absl::Status RegisterDecompositionKernels(KernelRegistry& kernels);
absl::Status RegisterFormerNames(KernelRegistry& kernels);
absl::Status RegisterEigKernels(KernelRegistry& kernels);
absl::Status RegisterLuKernels(KernelRegistry& kernels);
absl::Status RegisterSchurKernels(KernelRegistry& kernels);
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
