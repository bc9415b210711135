// Scaled dot-product attention as one op, with its gradient.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily AttentionFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterAttentionOps(OpRegistry& ops);

absl::Status RegisterAttentionKernels(KernelRegistry& kernels);
absl::Status RegisterAttentionGradientKernels(KernelRegistry& kernels);
absl::Status RegisterGpuAttentionKernels(KernelRegistry& kernels);
absl::Status RegisterGpuAttentionGradientKernels(KernelRegistry& kernels);

}  // namespace weir
