// The convolution family: see README.md beside this file.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily ConvolutionFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterVolumeOps(OpRegistry& ops);
absl::Status RegisterFusedPadConvolutionOps(OpRegistry& ops);

absl::Status RegisterWindowGradients(OpRegistry& ops);
absl::Status RegisterVolumeGradients(OpRegistry& ops);

absl::Status RegisterConvolutionKernels(KernelRegistry& kernels);
absl::Status RegisterDepthwiseConvolutionKernels(KernelRegistry& kernels);
absl::Status RegisterFusedPadConvolutionKernels(KernelRegistry& kernels);
absl::Status RegisterVolumeConvolutionKernels(KernelRegistry& kernels);
absl::Status RegisterGpuConvolutionKernels(KernelRegistry& kernels);
absl::Status RegisterGpuVolumeKernels(KernelRegistry& kernels);

}  // namespace weir
