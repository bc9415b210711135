#include "kernels/array/family.h"

namespace weir {

OpFamily ArrayFamily() {
  return {
      .name = "array",
      .ops = {RegisterDiagonalOps, RegisterBandOps, RegisterJoiningOps, RegisterParallelConcatStepOps,
              RegisterMovingOps, RegisterSpaceBatchOps, RegisterShapeOps, RegisterInplaceOps, RegisterRangeOps,
              RegisterValueOps, RegisterSlicingOps, RegisterStridedSliceAssignOps},
      .kernels = {RegisterBandKernels,          RegisterDiagonalKernels,
                  RegisterGpuDiagonalKernels,   RegisterJoinKernels,
                  RegisterGpuConcatKernels,     RegisterGpuSplitKernels,
                  RegisterMoveKernels,          RegisterPadKernels,
                  RegisterSpaceBatchKernels,    RegisterGpuMoveKernels,
                  RegisterGpuPadKernels,        RegisterGpuRollKernels,
                  RegisterGpuSpaceBatchKernels, RegisterValueKernels,
                  RegisterInplaceKernels,       RegisterRangeKernels,
                  RegisterShapeKernels,         RegisterGpuFillKernels,
                  RegisterSliceKernels,         RegisterStridedSliceAssignKernels,
                  RegisterGpuSliceKernels},
      .gradients = {RegisterArrayNotDifferentiable, RegisterDiagonalGradients, RegisterBandGradients,
                    RegisterJoiningGradients, RegisterMovingGradients, RegisterSpaceBatchGradients,
                    RegisterShapeGradients, RegisterIdentityGradients, RegisterSlicingGradients},
  };
}

}  // namespace weir
