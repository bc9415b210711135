// The attention family: see README.md beside this file.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily AttentionFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterAttentionKernels(KernelRegistry& kernels);
absl::Status RegisterAttentionGradientKernels(KernelRegistry& kernels);
absl::Status RegisterGpuAttentionKernels(KernelRegistry& kernels);
absl::Status RegisterGpuAttentionGradientKernels(KernelRegistry& kernels);

}  // namespace weir
