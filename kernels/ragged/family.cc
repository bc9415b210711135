#include "kernels/ragged/family.h"

namespace weir {

OpFamily RaggedFamily() {
  return {
      .name = "ragged",
      .ops = {RegisterRaggedOps},
      .kernels = {RegisterRaggedCrossKernels, RegisterRaggedGatherKernels, RegisterRaggedRangeKernels,
                  RegisterRaggedConversionKernels, RegisterRaggedToTensorKernels, RegisterRaggedVariantKernels},
      .gradients = {RegisterRaggedNotDifferentiable, RegisterRaggedGradients},
      .variants = {RegisterRaggedVariants},
  };
}

}  // namespace weir
