#include "kernels/training/family.h"

namespace weir {

OpFamily TrainingFamily() {
  return {
      .name = "training",
      .ops = {RegisterTrainingOps, RegisterFusedTrainingOps},
      .kernels = {RegisterAdaptiveRules, RegisterMomentumRules, RegisterProximalRules, RegisterGpuApplyKernels,
                  RegisterGpuFusedApplyKernels},
  };
}

}  // namespace weir
