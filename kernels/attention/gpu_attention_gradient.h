// The part of RegisterGpuAttentionKernels that is for gradients.
#pragma once

#include "core/kernel_registry.h"

namespace weir {

absl::Status RegisterGpuAttentionGradientKernels(KernelRegistry& kernels);

}  // namespace weir
