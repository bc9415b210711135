#include "kernels/normalization/family.h"

namespace weir {

OpFamily NormalizationFamily() {
  return {
      .name = "normalization",
      .ops = {RegisterGlobalNormalizationOps, RegisterNormalizationOps, RegisterFusedNormalizationOps},
      .kernels = {RegisterNormalizationKernels, RegisterLrnKernels, RegisterGpuNormKernels,
                  RegisterGlobalNormalizationKernels, RegisterGpuLrnKernels},
      .gradients = {RegisterNormalizationGradients, RegisterBatchNormGradGradients},
  };
}

}  // namespace weir
