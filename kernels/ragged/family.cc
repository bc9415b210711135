#include "kernels/ragged/family.h"

namespace weir {

OpFamily RaggedFamily() {
  return {
      .name = "ragged",
      .ops = {RegisterRaggedOps, RegisterRaggedFillOps},
      .kernels = {RegisterRaggedCrossKernels, RegisterRaggedGatherKernels, RegisterRaggedRangeKernels,
                  RegisterRaggedConversionKernels, RegisterRaggedToTensorKernels, RegisterRaggedVariantKernels,
                  RegisterRaggedFillEmptyRowsKernels},
      .gradients = {RegisterRaggedNotDifferentiable, RegisterRaggedGradients},
      .variants = {RegisterRaggedVariants},
  };
}

}  // namespace weir
