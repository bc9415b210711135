#include "kernels/convolution/family.h"

namespace weir {

OpFamily ConvolutionFamily() {
  return {
      .name = "convolution",
      .ops = {RegisterVolumeOps, RegisterFusedPadConvolutionOps},
      .kernels = {RegisterConvolutionKernels, RegisterDepthwiseConvolutionKernels, RegisterFusedPadConvolutionKernels,
                  RegisterVolumeConvolutionKernels, RegisterGpuConvolutionKernels, RegisterGpuVolumeKernels},
      .gradients = {RegisterWindowGradients, RegisterVolumeGradients},
  };
}

}  // namespace weir
