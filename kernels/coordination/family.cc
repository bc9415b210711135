#include "kernels/coordination/family.h"

namespace weir {

OpFamily CoordinationFamily() {
  return {
      .name = "coordination",
      .ops = {RegisterAccumulatorOps, RegisterBarrierOps, RegisterBatchingOps, RegisterQueueOps, RegisterStagingOps},
      .kernels = {RegisterAccumulatorKernels, RegisterBarrierKernels, RegisterBatchingKernels, RegisterMutexKernels,
                  RegisterQueueKernels, RegisterQueueMakers, RegisterStagingKernels, RegisterUnbatchingKernels},
      .gradients = {RegisterCoordinationNotDifferentiable},
  };
}

}  // namespace weir
