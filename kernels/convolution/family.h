// Convolutions over two and three dimensions, with their gradients.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily ConvolutionFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterFusedPadConvolutionOps(OpRegistry& ops);
absl::Status RegisterConvolutionOps(OpRegistry& ops);
absl::Status RegisterVolumeConvolutionOps(OpRegistry& ops);
absl::Status RegisterFusedConvolutionOps(OpRegistry& ops);

absl::Status RegisterConvolutionGradients(OpRegistry& ops);
absl::Status RegisterVolumeConvolutionGradients(OpRegistry& ops);

absl::Status RegisterConvolutionKernels(KernelRegistry& kernels);
absl::Status RegisterDepthwiseConvolutionKernels(KernelRegistry& kernels);
absl::Status RegisterFusedPadConvolutionKernels(KernelRegistry& kernels);
absl::Status RegisterVolumeConvolutionKernels(KernelRegistry& kernels);
absl::Status RegisterGpuConvolutionKernels(KernelRegistry& kernels);
absl::Status RegisterGpuVolumeConvolutionKernels(KernelRegistry& kernels);

}  // namespace weir
