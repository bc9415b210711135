// The parts of RegisterNnKernels, one source file each.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterActivationKernels(KernelRegistry& kernels);
absl::Status RegisterBiasKernels(KernelRegistry& kernels);
absl::Status RegisterSoftmaxKernels(KernelRegistry& kernels);
absl::Status RegisterConvolutionKernels(KernelRegistry& kernels);
absl::Status RegisterDepthwiseConvolutionKernels(KernelRegistry& kernels);
absl::Status RegisterPoolingKernels(KernelRegistry& kernels);
absl::Status RegisterNormalizationKernels(KernelRegistry& kernels);
absl::Status RegisterTopKKernels(KernelRegistry& kernels);

}  // namespace weir
