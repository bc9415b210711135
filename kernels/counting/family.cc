#include "kernels/counting/family.h"

namespace weir {

OpFamily CountingFamily() {
  return {
      .name = "counting",
      .ops = {RegisterCountingOps},
      .kernels = {RegisterBincountKernels, RegisterCountingKernels, RegisterFormatKernels, RegisterIsotonicKernels,
                  RegisterGpuBincountKernels, RegisterGpuCountingKernels},
      .gradients = {RegisterIsotonicGradients, RegisterCrossGradients, RegisterCountingNotDifferentiable},
  };
}

}  // namespace weir
