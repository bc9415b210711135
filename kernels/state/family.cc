#include "kernels/state/family.h"

namespace weir {

OpFamily StateFamily() {
  return {
      .name = "state",
      .ops = {RegisterStateOps},
      .kernels = {RegisterAssignUpdateKernels, RegisterRefVariableKernels, RegisterResourceGatherKernels,
                  RegisterResourceVariableKernels, RegisterScatterNdUpdateKernels, RegisterScatterUpdateKernels,
                  RegisterVariableSnapshotKernels, RegisterGpuVariableKernels, RegisterGpuVariableSnapshotKernels},
      .gradients = {RegisterStateNotDifferentiable, RegisterStateGradients},
  };
}

}  // namespace weir
