#include "kernels/elementwise/family.h"

namespace weir {

OpFamily ElementwiseFamily() {
  return {
      .name = "elementwise",
      .ops = {RegisterBinaryOps, RegisterUnaryOps, RegisterSpecialOps, RegisterStochasticCastOps},
      .kernels = {RegisterCastKernels, RegisterStochasticCastKernels, RegisterMiscellaneousMathKernels,
                  RegisterArithmeticKernels, RegisterBitwiseKernels, RegisterComparisonKernels,
                  RegisterComplexFunctionKernels, RegisterDivisionKernels, RegisterRealFunctionKernels,
                  RegisterSelectKernels, RegisterComplexUnaryKernels, RegisterUnaryKernels, RegisterRealUnaryKernels,
                  RegisterGpuElementwiseKernels, RegisterGpuSelectKernels, RegisterSpecialKernels,
                  RegisterGpuValueKernels},
      .gradients = {RegisterElementwiseNotDifferentiable, RegisterBinaryGradients, RegisterUnaryGradients,
                    RegisterSpecialGradients},
  };
}

}  // namespace weir
