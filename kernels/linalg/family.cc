#include "kernels/linalg/family.h"

namespace weir {

OpFamily LinalgFamily() {
  return {
      .name = "linalg",
      .ops = {RegisterLinearAlgebraOps, RegisterDecompositionOps, RegisterFormerOps, RegisterMatrixFunctionOps,
              RegisterFusedMatMulOps},
      .kernels = {RegisterDecompositionKernels, RegisterFormerNames, RegisterEigKernels, RegisterLuKernels,
                  RegisterSchurKernels, RegisterSelfAdjointKernels, RegisterSolverKernels, RegisterSvdKernels,
                  RegisterTridiagonalKernels, RegisterEinsumKernels, RegisterMatMulKernels, RegisterGpuEinsumKernels,
                  RegisterGpuMatMulKernels, RegisterBatchMatMulV3Kernels},
      .gradients = {RegisterDecompositionGradients, RegisterSpectralGradients, RegisterTridiagonalGradients,
                    RegisterMatMulGradients, RegisterEinsumGradients},
  };
}

}  // namespace weir
