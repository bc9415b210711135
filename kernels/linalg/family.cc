#include "kernels/linalg/family.h"

namespace weir {

OpFamily LinalgFamily() {
  return {
      .name = "linalg",
      .ops = {RegisterLinearAlgebraOps, RegisterDecompositionOps, RegisterDeprecatedOps, RegisterMatrixFunctionOps,
              RegisterFusedMatMulOps},
      .kernels = {RegisterEigKernels, RegisterLeastSquaresKernels, RegisterLuKernels, RegisterMatrixFunctionKernels,
                  RegisterQrKernels, RegisterSelfAdjointKernels, RegisterSolverKernels, RegisterSvdKernels,
                  RegisterTridiagonalKernels, RegisterEinsumKernels, RegisterMatMulKernels, RegisterGpuEinsumKernels,
                  RegisterGpuMatMulKernels, RegisterBatchMatMulV3Kernels},
      .copied_kernels = {RegisterDeprecatedKernels},
      .gradients = {RegisterDecompositionGradients, RegisterSpectralGradients, RegisterTridiagonalGradients,
                    RegisterMatMulGradients, RegisterEinsumGradients},
  };
}

}  // namespace weir
