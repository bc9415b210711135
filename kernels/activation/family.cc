#include "kernels/activation/family.h"

namespace weir {

OpFamily ActivationFamily() {
  return {
      .name = "activation",
      .ops = {RegisterActivationOps, RegisterFusedActivationOps},
      .kernels = {RegisterActivationKernels, RegisterBiasKernels, RegisterGpuBiasKernels, RegisterGpuL2LossKernels},
      .gradients = {RegisterActivationGradients},
  };
}

}  // namespace weir
