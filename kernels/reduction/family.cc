#include "kernels/reduction/family.h"

namespace weir {

OpFamily ReductionFamily() {
  return {
      .name = "reduction",
      .ops = {RegisterReductionOps},
      .kernels = {RegisterArgKernels, RegisterCumulativeLogsumexpKernels, RegisterExtremeKernels,
                  RegisterProductKernels, RegisterSumKernels, RegisterScanKernels, RegisterGpuFoldKernels,
                  RegisterGpuOrderKernels},
      .gradients = {RegisterReductionGradients, RegisterReductionNotDifferentiable},
  };
}

}  // namespace weir
