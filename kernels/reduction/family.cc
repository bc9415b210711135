#include "kernels/reduction/family.h"

namespace weir {

OpFamily ReductionFamily() {
  return {
      .name = "reduction",
      .ops = {RegisterReductionOps},
      .kernels = {RegisterArgKernels, RegisterExtremeKernels, RegisterProductKernels, RegisterSumKernels,
                  RegisterScanKernels, RegisterGpuFoldKernels, RegisterGpuOrderKernels},
      .gradients = {RegisterReductionNotDifferentiable, RegisterReductionGradients},
  };
}

}  // namespace weir
