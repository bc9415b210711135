#include "kernels/linalg/family.h"

namespace weir {

OpFamily LinalgFamily() {
  return {
      .name = "linalg",
      .ops = {RegisterLinearAlgebraOps, RegisterDecompositionOps, RegisterDeprecatedOps, RegisterMatrixFunctionOps,
              RegisterFusedMatMulOps},
      // The deprecated names copy the kernels registered before them.
      .kernels = {RegisterEigKernels, RegisterLeastSquaresKernels, RegisterLuKernels, RegisterMatrixFunctionKernels,
                  RegisterQrKernels, RegisterSelfAdjointKernels, RegisterSolverKernels, RegisterSvdKernels,
                  RegisterTridiagonalKernels, RegisterEinsumKernels, RegisterMatMulKernels, RegisterGpuEinsumKernels,
                  RegisterGpuMatMulKernels, RegisterBatchMatMulV3Kernels, RegisterDeprecatedKernels},
      .gradients = {RegisterDecompositionGradients, RegisterSpectralGradients, RegisterTridiagonalGradients,
                    RegisterMatMulGradients, RegisterEinsumGradients},
  };
}

}  // namespace weir
