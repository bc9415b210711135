#include "kernels/image/family.h"

namespace weir {

OpFamily ImageFamily() {
  return {
      .name = "image",
      .ops = {RegisterImageFileOps, RegisterImageOps, RegisterImageRegionOps},
      .kernels = {RegisterImageDecodeKernels, RegisterImageEncodeKernels, RegisterBoundingBoxKernels,
                  RegisterImageColorKernels, RegisterSuppressionKernels, RegisterImageCropKernels,
                  RegisterDistortedBoxKernels, RegisterGlimpseKernels, RegisterPatchKernels, RegisterProjectionKernels,
                  RegisterImageResizeKernels, RegisterScaleKernels, RegisterImageBoxKernels, RegisterGpuCropKernels,
                  RegisterGpuImageKernels},
      .gradients = {RegisterImageNotDifferentiable, RegisterFourierGradients, RegisterImageGradients,
                    RegisterColorGradients, RegisterPatchGradients},
  };
}

}  // namespace weir
