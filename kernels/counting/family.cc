#include "kernels/counting/family.h"

namespace weir {

OpFamily CountingFamily() {
  return {
      .name = "counting",
      .ops = {RegisterCountingOps},
      .kernels = {RegisterCountingKernels, RegisterFormatKernels, RegisterIsotonicKernels},
      .gradients = {RegisterCountingNotDifferentiable, RegisterIsotonicGradients},
  };
}

}  // namespace weir
