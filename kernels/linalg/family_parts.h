// Families of CPU kernels for numerical, image and neural-network ops beyond the core ones.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

// All of them.
absl::Status RegisterNumericKernels(KernelRegistry& kernels);

absl::Status RegisterSpaceBatchKernels(KernelRegistry& kernels);
absl::Status RegisterBandKernels(KernelRegistry& kernels);
absl::Status RegisterCountingKernels(KernelRegistry& kernels);
absl::Status RegisterFormatKernels(KernelRegistry& kernels);
absl::Status RegisterIsotonicKernels(KernelRegistry& kernels);
absl::Status RegisterSpecialKernels(KernelRegistry& kernels);
absl::Status RegisterRandomOrderKernels(KernelRegistry& kernels);
absl::Status RegisterRandomGammaKernels(KernelRegistry& kernels);
absl::Status RegisterRandomPoissonKernels(KernelRegistry& kernels);
absl::Status RegisterRandomBinomialKernels(KernelRegistry& kernels);
absl::Status RegisterTruncatedNormalKernels(KernelRegistry& kernels);
absl::Status RegisterDecompositionKernels(KernelRegistry& kernels);
absl::Status RegisterSelfAdjointKernels(KernelRegistry& kernels);
absl::Status RegisterSvdKernels(KernelRegistry& kernels);
absl::Status RegisterSolverKernels(KernelRegistry& kernels);
absl::Status RegisterEinsumKernels(KernelRegistry& kernels);
absl::Status RegisterVolumePoolingKernels(KernelRegistry& kernels);
absl::Status RegisterVolumeConvolutionKernels(KernelRegistry& kernels);
absl::Status RegisterDilationKernels(KernelRegistry& kernels);
absl::Status RegisterQuantizationKernels(KernelRegistry& kernels);
absl::Status RegisterFakeQuantKernels(KernelRegistry& kernels);
absl::Status RegisterFourierKernels(KernelRegistry& kernels);
absl::Status RegisterImageColorKernels(KernelRegistry& kernels);
absl::Status RegisterImageResizeKernels(KernelRegistry& kernels);
absl::Status RegisterImageCropKernels(KernelRegistry& kernels);
absl::Status RegisterImageBoxKernels(KernelRegistry& kernels);
absl::Status RegisterCandidateSamplerKernels(KernelRegistry& kernels);
absl::Status RegisterFractionalPoolingKernels(KernelRegistry& kernels);
absl::Status RegisterCtcKernels(KernelRegistry& kernels);
absl::Status RegisterRecurrentKernels(KernelRegistry& kernels);
absl::Status RegisterCudnnRnnKernels(KernelRegistry& kernels);
absl::Status RegisterRuntimeInfoKernels(KernelRegistry& kernels);

}  // namespace weir
