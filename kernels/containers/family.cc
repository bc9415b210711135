#include "kernels/containers/family.h"

namespace weir {

OpFamily ContainersFamily() {
  return {
      .name = "containers",
      .ops = {RegisterCompositeOps, RegisterTensorArrayOps, RegisterTensorListOps, RegisterLegacySequenceOps,
              RegisterTensorMapOps},
      .kernels = {RegisterCompositeKernels, RegisterStackKernels, RegisterTensorArrayKernels, RegisterTensorListKernels,
                  RegisterTensorListRowKernels, RegisterTensorMapKernels, RegisterVariantArithmeticKernels},
      .gradients = {RegisterContainersNotDifferentiable, RegisterTensorArrayGradients, RegisterTensorListGradients,
                    RegisterTensorMapGradients},
      .variants = {RegisterCompositeVariants, RegisterTensorListVariants, RegisterTensorMapVariants},
  };
}

}  // namespace weir
