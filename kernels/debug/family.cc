#include "kernels/debug/family.h"

namespace weir {

OpFamily DebugFamily() {
  return {
      .name = "debug",
      .ops = {RegisterDebugOps, RegisterProbeOps, RegisterRuntimeInfoOps},
      .kernels = {RegisterDebugKernels, RegisterImmutableConstKernels, RegisterPrintKernels, RegisterProbeKernels,
                  RegisterRuntimeInfoKernels, RegisterTensorHealthKernels},
      .gradients = {RegisterDebugNotDifferentiable, RegisterDebugGradients},
  };
}

}  // namespace weir
