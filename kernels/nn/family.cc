#include "kernels/nn/family.h"

namespace weir {

OpFamily NnFamily() {
  return {
      .name = "nn",
      .ops = {RegisterNnOps},
      .kernels = {RegisterActivationKernels, RegisterBiasKernels, RegisterGpuNnKernels},
      .gradients = {RegisterNnNotDifferentiable, RegisterNnGradients},
  };
}

}  // namespace weir
