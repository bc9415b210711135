#include "kernels/normalization/family.h"

namespace weir {

OpFamily NormalizationFamily() {
  return {
      .name = "normalization",
      .kernels = {RegisterNormalizationKernels, RegisterLrnKernels, RegisterGpuNormKernels},
      .gradients = {RegisterBatchNormGradients},
  };
}

}  // namespace weir
