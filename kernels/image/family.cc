#include "kernels/image/family.h"

namespace weir {

OpFamily ImageFamily() {
  return {
      .name = "image",
      .ops = {RegisterImageFileOps, RegisterImageOps, RegisterImageRegionOps, RegisterImageBoxOps},
      .kernels = {RegisterImageDecodeKernels, RegisterImageEncodeKernels, RegisterBoundingBoxKernels,
                  RegisterImageColorKernels, RegisterSuppressionKernels, RegisterImageCropKernels,
                  RegisterDistortedBoxKernels, RegisterGlimpseKernels, RegisterPatchKernels, RegisterProjectionKernels,
                  RegisterImageResizeKernels, RegisterScaleKernels, RegisterImageBoxKernels, RegisterGpuCropKernels,
                  RegisterGpuResizeKernels},
      .gradients = {RegisterImageNotDifferentiable, RegisterImageGradients, RegisterColorGradients,
                    RegisterPatchGradients, RegisterScaleGradients},
  };
}

}  // namespace weir
