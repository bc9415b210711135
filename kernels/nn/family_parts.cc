#include "kernels/nn/family_parts.h"

#include "kernels/cpu/families.h"

namespace weir {

absl::Status RegisterNnKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(RegisterActivationKernels(kernels));
  RETURN_IF_ERROR(RegisterBiasKernels(kernels));
  RETURN_IF_ERROR(RegisterSoftmaxKernels(kernels));
  RETURN_IF_ERROR(RegisterConvolutionKernels(kernels));
  RETURN_IF_ERROR(RegisterDepthwiseConvolutionKernels(kernels));
  RETURN_IF_ERROR(RegisterPoolingKernels(kernels));
  RETURN_IF_ERROR(RegisterNormalizationKernels(kernels));
  return RegisterTopKKernels(kernels);
}

}  // namespace weir
