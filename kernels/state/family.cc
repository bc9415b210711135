#include "kernels/state/family.h"

namespace weir {

OpFamily StateFamily() {
  return {
      .name = "state",
      .ops = {RegisterStateOps},
      .kernels = {RegisterAssignUpdateKernels, RegisterRefVariableKernels, RegisterResourceGatherKernels,
                  RegisterResourceVariableKernels, RegisterScatterNdUpdateKernels, RegisterScatterUpdateKernels,
                  RegisterGpuVariableKernels},
      .gradients = {RegisterStateNotDifferentiable, RegisterStateGradients},
  };
}

}  // namespace weir
