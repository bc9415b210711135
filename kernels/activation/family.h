// Activations, biases and the L2 loss, with their gradients.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily ActivationFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterActivationOps(OpRegistry& ops);
absl::Status RegisterFusedActivationOps(OpRegistry& ops);

absl::Status RegisterActivationGradients(OpRegistry& ops);

absl::Status RegisterActivationKernels(KernelRegistry& kernels);
absl::Status RegisterBiasKernels(KernelRegistry& kernels);
absl::Status RegisterGpuBiasKernels(KernelRegistry& kernels);
absl::Status RegisterGpuL2LossKernels(KernelRegistry& kernels);

}  // namespace weir
