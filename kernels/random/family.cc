#include "kernels/random/family.h"

namespace weir {

OpFamily RandomFamily() {
  return {
      .name = "random",
      .ops = {RegisterRandomOps, RegisterRandomDistributionOps, RegisterGeneratorOps},
      .kernels = {RegisterRandomBinomialKernels, RegisterRandomGammaKernels, RegisterRandomPoissonKernels,
                  RegisterRandomKernels, RegisterRandomOrderKernels, RegisterSobolKernels,
                  RegisterStatefulRandomKernels, RegisterStatelessRandomKernels, RegisterTruncatedNormalKernels,
                  RegisterGpuMultinomialKernels, RegisterGpuRandomKernels},
      .gradients = {RegisterRandomNotDifferentiable, RegisterRandomGradients},
  };
}

}  // namespace weir
