#include "kernels/array/family.h"

namespace weir {

OpFamily ArrayFamily() {
  return {
      .name = "array",
      .ops = {RegisterDiagonalOps, RegisterBandOps, RegisterSpaceBatchOps, RegisterArrayOps, RegisterInplaceOps,
              RegisterStridedSliceAssignOps, RegisterParallelConcatStepOps},
      .kernels = {RegisterBandKernels, RegisterDiagonalKernels, RegisterGpuDiagonalKernels, RegisterJoinKernels,
                  RegisterMoveKernels, RegisterPadKernels, RegisterSpaceBatchKernels, RegisterGpuMoveKernels,
                  RegisterGpuPadKernels, RegisterGpuArrayKernels, RegisterGpuSpaceKernels, RegisterValueKernels,
                  RegisterInplaceKernels, RegisterShapeKernels, RegisterGpuFillKernels, RegisterSliceKernels,
                  RegisterStridedSliceAssignKernels, RegisterGpuSliceKernels},
      .gradients = {RegisterArrayNotDifferentiable, RegisterDiagonalGradients, RegisterBandGradients,
                    RegisterArrayGradients},
  };
}

}  // namespace weir
