#include "kernels/linalg/family_parts.h"

#include "kernels/convolution/cpu_fused_pad.h"

namespace weir {

absl::Status RegisterNumericKernels(KernelRegistry& kernels) {
  for (auto* family : {
           &RegisterSpaceBatchKernels,
           &RegisterBandKernels,
           &RegisterCountingKernels,
           &RegisterFormatKernels,
           &RegisterIsotonicKernels,
           &RegisterSpecialKernels,
           &RegisterRandomOrderKernels,
           &RegisterRandomGammaKernels,
           &RegisterRandomPoissonKernels,
           &RegisterRandomBinomialKernels,
           &RegisterTruncatedNormalKernels,
           &RegisterDecompositionKernels,
           &RegisterSelfAdjointKernels,
           &RegisterSvdKernels,
           &RegisterSolverKernels,
           &RegisterVolumePoolingKernels,
           &RegisterVolumeConvolutionKernels,
           &RegisterQuantizationKernels,
           &RegisterCandidateSamplerKernels,
           &RegisterCtcKernels,
           &RegisterFractionalPoolingKernels,
           &RegisterRecurrentKernels,
           &RegisterCudnnRnnKernels,
           &RegisterEinsumKernels,
           &RegisterDilationKernels,
           &RegisterFusedPadConvolutionKernels,
           &RegisterFakeQuantKernels,
           &RegisterFourierKernels,
           &RegisterImageColorKernels,
           &RegisterImageResizeKernels,
           &RegisterImageCropKernels,
           &RegisterImageBoxKernels,
           &RegisterRuntimeInfoKernels,
       }) {
    RETURN_IF_ERROR((*family)(kernels));
  }
  return absl::OkStatus();
}

}  // namespace weir
