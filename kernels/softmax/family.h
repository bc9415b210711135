// Softmax, log-softmax and the cross-entropies of logits, with their gradients.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily SoftmaxFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterSoftmaxOps(OpRegistry& ops);

absl::Status RegisterSoftmaxGradients(OpRegistry& ops);

absl::Status RegisterSoftmaxKernels(KernelRegistry& kernels);
absl::Status RegisterGpuSoftmaxKernels(KernelRegistry& kernels);

}  // namespace weir
