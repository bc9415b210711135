#include "kernels/normalization/family.h"

namespace weir {

OpFamily NormalizationFamily() {
  return {
      .name = "normalization",
      .ops = {RegisterGlobalNormalizationOps},
      .kernels = {RegisterNormalizationKernels, RegisterLrnKernels, RegisterGpuNormKernels,
                  RegisterGlobalNormalizationKernels, RegisterGpuLrnKernels},
      .gradients = {RegisterBatchNormGradients},
  };
}

}  // namespace weir
