// Convolutions of images that are resized and padded on the way.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterFusedPadConvolutionKernels(KernelRegistry& kernels);

}  // namespace weir
