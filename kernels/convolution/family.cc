#include "kernels/convolution/family.h"

namespace weir {

OpFamily ConvolutionFamily() {
  return {
      .name = "convolution",
      .ops = {RegisterFusedPadConvolutionOps, RegisterConvolutionOps, RegisterVolumeConvolutionOps,
              RegisterFusedConvolutionOps},
      .kernels = {RegisterConvolutionKernels, RegisterDepthwiseConvolutionKernels, RegisterFusedPadConvolutionKernels,
                  RegisterVolumeConvolutionKernels, RegisterGpuConvolutionKernels, RegisterGpuVolumeConvolutionKernels},
      .gradients = {RegisterConvolutionGradients, RegisterVolumeConvolutionGradients},
  };
}

}  // namespace weir
