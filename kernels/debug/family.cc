#include "kernels/debug/family.h"

namespace weir {

OpFamily DebugFamily() {
  return {
      .name = "debug",
      .ops = {RegisterDebugOps, RegisterPrintOps, RegisterProbeOps, RegisterRuntimeInfoOps},
      .kernels = {RegisterCheckNumericsKernels, RegisterDebugKernels, RegisterImmutableConstKernels,
                  RegisterPrintKernels, RegisterProbeKernels, RegisterRuntimeInfoKernels, RegisterTensorHealthKernels,
                  RegisterGpuCheckNumericsKernels},
      .gradients = {RegisterDebugGradients, RegisterCheckGradients, RegisterDebugNotDifferentiable},
  };
}

}  // namespace weir
