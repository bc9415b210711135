#include "kernels/elementwise/family.h"

namespace weir {

OpFamily ElementwiseFamily() {
  return {
      .name = "elementwise",
      .ops = {RegisterBinaryOps, RegisterSelectOps, RegisterUnaryOps, RegisterCastOps, RegisterStochasticCastOps,
              RegisterSpecialOps},
      .kernels = {RegisterAddNKernels,           RegisterApproximateEqualKernels,
                  RegisterArithmeticKernels,     RegisterBitwiseKernels,
                  RegisterComparisonKernels,     RegisterComplexFunctionKernels,
                  RegisterDivisionKernels,       RegisterRealFunctionKernels,
                  RegisterSelectKernels,         RegisterComplexUnaryKernels,
                  RegisterUnaryKernels,          RegisterRealUnaryKernels,
                  RegisterGpuBroadcastKernels,   RegisterGpuClipKernels,
                  RegisterGpuElementwiseKernels, RegisterGpuSelectKernels,
                  RegisterBitcastKernels,        RegisterCastKernels,
                  RegisterStochasticCastKernels, RegisterGpuCastKernels,
                  RegisterSpecialKernels,        RegisterGpuSpecialKernels},
      .gradients = {RegisterBinaryGradients, RegisterSelectGradients, RegisterUnaryGradients,
                    RegisterElementwiseNotDifferentiable, RegisterCastGradients, RegisterSpecialGradients},
  };
}

}  // namespace weir
